"""`phaser segment --verify`: over real HTTP, within limits, with every fallback in plain sight."""

import json
import shlex
from pathlib import Path

import pytest
from chat_server import Reply, serving
from recorded_files import PACES, write_grasps
from verifying import GOOD, KEY

from phaser.cli import main
from phaser.phases.stage_info import read_stage_info

TASK = "put_the_cup_on_the_shelf"


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PHASER_VLM_KEY", KEY)
    # Two alike and one slower: the first is the typical one that the model looks at.
    cups = write_grasps(tmp_path / "cups.hdf5", paces=(PACES[0],) * 2 + (PACES[1],))
    out = tmp_path / "s.json"
    return f"segment {cups} --layout libero --verify seer --max-frames 8 --out {out}"


def test_a_good_answer_names_the_phases_and_is_paid_once(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Reply(json.dumps(GOOD))) as server:
        assert main.execute(shlex.split(f"{words} --vlm-url {server.url} --json")) == 0
        assert main.execute(shlex.split(f"{words} --vlm-url {server.url}")) == 0
        assert len(server.requests) == 1
    shown = capsys.readouterr()
    stages = read_stage_info(tmp_path / "s.json")[TASK]
    assert (stages.source, stages.flag) == ("auto-pc-vlm", "")
    assert stages.names == ("approach_cup", "grasp_cup", "transport_cup", "release_cup")
    # The demonstration that was looked at keeps the model's steps exactly.
    assert stages.episodes[0].boundaries == (40, 62, 80)
    assert '"num_calls": 1' in shown.out
    assert "model: 0 requests, 0 tokens" in shown.out
    assert KEY not in shown.out + shown.err
    # Offline the same answer is found again, without an address and without a connection.
    first = (tmp_path / "s.json").read_bytes()
    assert main.execute(shlex.split(f"{words} --offline")) == 0
    assert (tmp_path / "s.json").read_bytes() == first


def test_a_fallback_is_flagged_on_the_terminal_in_json_and_in_the_file(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Reply("I see a \x1b[31mrobot")) as server:
        assert main.execute(shlex.split(f"{words} --vlm-url {server.url}")) == 0
    shown = capsys.readouterr()
    stages = read_stage_info(tmp_path / "s.json")[TASK]
    assert stages.source == "auto-pc-signal"
    assert "two answers broke the rules" in stages.flag
    assert f"! {TASK}: not verified: two answers broke the rules" in shown.out
    assert "! 1 of 1 tasks have phases from the action signal alone" in shown.out
    assert "not verified" in shown.err
    assert "\x1b" not in shown.out + shown.err
    assert main.execute(shlex.split(f"{words} --offline --json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["num_flagged"] == 1
    assert found["tasks"][0]["flag"] == stages.flag


@pytest.mark.parametrize(
    ("limit", "said"), [("--max-calls 0", "the limit of 0 calls"), ("--max-tokens 9", "limit is 9")]
)
def test_limits_hold_before_anything_is_sent(
    limit: str, said: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Reply(json.dumps(GOOD))) as server:
        assert main.execute(shlex.split(f"{words} --vlm-url {server.url} {limit}")) == 0
        assert server.requests == []
    assert said in capsys.readouterr().out


def test_a_refused_key_stops_with_one_line_that_does_not_hold_it(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()
    with serving(Reply(status=401, body=refusal)) as server:
        assert main.execute(shlex.split(f"{words} --vlm-url {server.url}")) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "check PHASER_VLM_KEY" in said
    assert KEY not in said
    assert not (tmp_path / "s.json").exists()


def test_an_unreachable_server_stops_at_the_first_question_with_a_code_of_its_own(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Reply()) as server:
        url = server.url
    assert main.execute(shlex.split(f"{words} --vlm-url {url}")) == 3
    shown = capsys.readouterr()
    assert "cannot be reached" in shown.err
    assert "tokens" not in shown.out
    assert not (tmp_path / "s.json").exists()
