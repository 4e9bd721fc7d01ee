"""What a user gets wrong with `phaser segment` is one line, exit code 2, and no file."""

import os
import shlex
from pathlib import Path

import pytest
from made_datasets import write_v3
from recorded_files import write_grasps

from phaser.cli import main

MEMORY = Path(__file__).parents[1] / "fixtures" / "memory_v1"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("segment", "required: SOURCE, --out"),
        ("segment hammer", "required: --out"),
        ("segment hamer --out s.json", "did you mean hammer"),
        ("segment ./nowhere --out s.json", "nowhere does not exist; expected an HDF5 file"),
        ("segment notes.txt --out s.json", "notes.txt is none of these"),
        (
            "segment cups.hdf5 --out s.json",
            "give --layout, one of aloha, droid, koch, libero,",
        ),
        (
            "segment set --out s.json",
            "give --layout, one of aloha, droid, koch, libero,",
        ),
        ("run datasets --suite.sources set", "give --suite.layout, one of aloha, droid"),
        ("segment cups.hdf5 --layout libro --out s.json", "invalid choice: 'libro'"),
        ("segment cups.hdf5 --layout aloha --out s.json", "actions of 7 numbers"),
        ("segment cups.hdf5 --layout libero --motion 0 --out s.json", "leave out --motion"),
        ("segment cups.hdf5 --gripper 6 --out s.json", "need --motion"),
        ("segment cups.hdf5 --motion 0-8 --out s.json", "expected some of 0 to 6"),
        ("segment cups.hdf5 --motion x --out s.json", "expected whole numbers"),
        ("segment cups.hdf5 --layout libero --boundaries even --out s.json", "'even'"),
        ("segment cups.hdf5 cups.hdf5 --layout libero --out s.json", "one by one"),
        ("segment hammer --layout libero --out s.json", "know their layout"),
        ("segment cups.hdf5 --layout libero --out .", "is a folder"),
        ("segment cups.hdf5 --layout libero --out notes.txt", "notes.txt is not valid JSON"),
        ("segment cups.hdf5 --layout libero --out cups.hdf5/s.json", "cannot write into"),
        ("segment cups.hdf5 --layout libero --plot notes.txt --out s.json", "cannot write into"),
        ("segment cups.hdf5 --layout libero --plot p --camera top --out s.json", "--camera top: "),
        ("segment cups.hdf5 --layout libero --camera top --out s.json", "its cameras: agentview"),
        ("segment blind.hdf5 --layout libero --camera nope --out s.json", "there are no images"),
        (f"memory show {MEMORY} --camera top", "give --pictures"),
        ("segment pipe.hdf5 --layout libero --out s.json", "pipe.hdf5 is none of these"),
        ("phases stats deep.json", "deep.json is nested too deeply"),
        ("segment cups.hdf5 --layout libero --polt p --out s.json", "did you mean --plot"),
        ("segment cups.hdf5 --layout libero --vlm-url http://h/v1 --out s.json", "name one with"),
        ("segment cups.hdf5 --layout libero --offline --out s.json", "name one with --verify"),
        ("segment cups.hdf5 --layout libero --verify seer --out s.json", "--vlm-url"),
        (
            "segment cups.hdf5 --layout libero --verify seer --vlm-url ftp://h --out s.json",
            "expected http(s)://host/v1",
        ),
        (
            "segment cups.hdf5 --layout libero --verify seer --offline --max-calls -1 --out s.json",
            "--max-calls",
        ),
        (
            "segment cups.hdf5 --layout libero --verify seer --offline --vlm-temperature hot "
            "--out s.json",
            "'hot' is not a number from 0 to 2",
        ),
    ],
)
def test_a_mistake_is_one_line(
    words: str,
    expected: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_grasps(tmp_path / "cups.hdf5")
    write_grasps(tmp_path / "blind.hdf5", images=False)
    write_v3(tmp_path / "set", [6, 5])
    os.mkfifo(tmp_path / "pipe.hdf5")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "notes.txt").write_text("buy milk")
    assert main.execute(shlex.split(words)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert expected in shown.err
    assert not (tmp_path / "s.json").exists()
    assert (tmp_path / "notes.txt").read_text() == "buy milk"
