"""`phaser phases`: the paper's row, agreement of two files, and mistakes in one line."""

import json
from pathlib import Path

import pytest

from phaser.cli import main
from phaser.phases.stage_info import EpisodeStages, RatioPhase, TaskStages, write_stage_info


def annotation(path: Path, **boundaries: int) -> str:
    """One task per word, 100 frames long, cut once."""
    tasks = {
        name: TaskStages(
            instruction=name,
            source="human",
            phases=(
                RatioPhase(name="approach", start_ratio=0.0, end_ratio=step / 100),
                RatioPhase(name="push", start_ratio=step / 100, end_ratio=1.0),
            ),
            episodes=(EpisodeStages(episode=0, num_frames=100, boundaries=(step,)),),
        )
        for name, step in boundaries.items()
    }
    write_stage_info(path, tasks)
    return str(path)


def test_the_shipped_annotation_gives_the_papers_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.execute(["phases", "stats", "libero-goal"]) == 0
    header, row, *_ = capsys.readouterr().out.splitlines()
    assert dict(zip(header.split()[1:], row.split()[1:], strict=True)) == {
        "tasks": "10",
        "K": "22",
        "mean": "0.45",
        "σ": "0.20",
        "CV": "0.43",
        "median": "1.50×",
        "worst": "5.67×",
        "boost": "3.0×",
    }


def test_stats_as_json_are_not_rounded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = annotation(tmp_path / "a.json", push=25, pull=30)
    assert main.execute(["phases", "stats", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["annotation"], found["num_phases"], found["mean"]) == (path, 4, 0.5)
    assert found["worst_disparity"] == pytest.approx(3.0)
    assert found["median_disparity"] == pytest.approx((3 + 7 / 3) / 2)
    assert found["boost"] == pytest.approx(2.0)


def test_agreement_counts_what_is_within_the_tolerance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = annotation(tmp_path / "a.json", push=44, pull=60, lift=9)
    reference = annotation(tmp_path / "b.json", push=50, pull=60, turn=9)
    assert main.execute(["phases", "agree", found, reference]) == 0
    shown = capsys.readouterr().out
    lines = {line.split()[0]: line.split()[1:5] for line in shown.splitlines() if line}
    assert lines["push"] == ["1", "0.00", "0.00", "0.00"]
    assert lines["pull"] == ["1", "1.00", "1.00", "1.00"]
    assert lines["all"] == ["2", "0.50", "0.50", "0.50"]
    assert "left out, in FOUND only: lift" in shown
    assert "left out, in REFERENCE only: turn" in shown
    assert main.execute(["phases", "agree", found, reference, "--tolerance", "6", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["overall"]["f1"] == 1.0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["phases"], "say stats or agree"),
        (["phases", "stat"], "did you mean stats"),
        (["phases", "stats"], "required: FILE"),
        (["phases", "stats", "libero-gaol"], "did you mean libero-goal"),
        (["phases", "stats", "nowhere.json"], "nowhere.json does not exist"),
        (["phases", "stats", "."], "is a folder"),
        (["phases", "stats", "deep.json"], "nested too deeply"),
        (["phases", "stats", "list.json"], "expected one object per task"),
        (["phases", "stats", "none.json"], "no annotated tasks"),
        (["phases", "stats", "tiny.json"], "too short to measure"),
        (["phases", "stats", "libero-goal", "--jsno"], "did you mean --json"),
        (["phases", "agree", "libero-goal"], "required: REFERENCE"),
        (["phases", "agree", "libero-goal", "a.json"], "no task in common"),
        (["phases", "agree", "a.json", "a.json", "--tolerance", "-1"], "-1"),
        (["phases", "agree", "a.json", "a.json", "--tolerance", "few"], "'few'"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str],
    expected: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    annotation(tmp_path / "a.json", push=25)
    (tmp_path / "deep.json").write_text("[" * 200_000)
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "none.json").write_text("{}")
    phases = [
        {"name": "a", "start_ratio": 0, "end_ratio": 1e-320},
        {"name": "b", "start_ratio": 1e-320, "end_ratio": 1},
    ]
    task = {"instruction": "push", "source": "human", "phases": phases}
    (tmp_path / "tiny.json").write_text(json.dumps({"push": task}))
    assert main.execute(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert expected in shown.err
