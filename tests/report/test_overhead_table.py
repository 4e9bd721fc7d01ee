"""What each method costs beside er, from the folders of its runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from phaser.core.errors import BrokenFile
from phaser.core.files import read_json, write_bytes, write_json
from phaser.report.overhead import HEADINGS, OverheadRow, cells
from phaser.report.page import write_report
from phaser.report.runs import read_run
from phaser.report.summary_json import summary_json
from phaser.report.tables import as_markdown

WriteRun = Callable[..., Path]


@pytest.fixture
def timed_run(write_run: WriteRun) -> WriteRun:
    """A run of today's version: its steps and transitions timed apart, 40 steps of 4 tasks."""

    def write(method: str, seed: int, *, step_ms: float, transition_ms: float) -> Path:
        folder = write_run(method, seed)
        learnt = 40 * step_ms / 1000
        timing = {
            "train_s": 30.0,
            "total_cpu_s": 45.0,
            "learn_cpu_s": learnt,
            "stream_cpu_s": learnt + 4 * transition_ms / 1000,
            "steps": 40.0,
            "transitions": 4.0,
        }
        write_json(folder / "timing.json", timing)
        return folder

    return write


def test_times_are_per_step_and_per_transition_and_relative_to_er(
    timed_run: WriteRun, tmp_path: Path
) -> None:
    folders = [timed_run("er", seed, step_ms=10, transition_ms=2) for seed in (0, 1)]
    folders += [timed_run("icarl", seed, step_ms=14 + seed, transition_ms=5) for seed in (0, 1)]
    er, icarl = write_report(folders, tmp_path / "report.html").overhead
    assert (er.step_ratio, er.transition_extra_ms) == (1, 0)
    assert icarl.step_ms == pytest.approx(14.5)
    assert icarl.step_ratio == pytest.approx(1.45)
    assert icarl.transition_ms == pytest.approx(5)
    assert icarl.transition_extra_ms == pytest.approx(3)
    assert cells(icarl)[1:5] == ("14.50", "≈ 1.450", "5.0", "≈ +3.0")


def test_runs_at_the_same_time_on_one_machine_are_side_by_side(
    timed_run: WriteRun, tmp_path: Path
) -> None:
    def noted(folder: Path, started: int, machine: str = "one") -> Path:
        moments = {
            "started": f"2026-11-17T{started:02d}:00:00+00:00",
            "finished": f"2026-11-17T{started + 4:02d}:00:00+00:00",
        }
        write_json(folder / "machine.json", {**moments, "machine": machine})
        return folder

    def row(started: int, machine: str) -> OverheadRow:
        name = f"mir-{started}-{machine}"
        mir = noted(timed_run(name, 0, step_ms=14, transition_ms=5), started, machine)
        return write_report([er, mir], tmp_path / "report.html").overhead[1]

    er = noted(timed_run("er", 0, step_ms=10, transition_ms=2), 8)
    assert cells(row(10, "one"))[2] == "1.400"
    assert not row(11, "one").side_by_side, "together for a quarter of the time"
    assert not row(8, "another").side_by_side


def test_runs_of_old_versions_give_an_upper_bound_of_a_step(
    write_run: WriteRun, timed_run: WriteRun, tmp_path: Path
) -> None:
    old = [write_run("er", 0), write_run("er-even", 0)]
    new = timed_run("phaser", 0, step_ms=10, transition_ms=1)
    rows = write_report([*old, new], tmp_path / "report.html").overhead
    # 30 s of training for 4 tasks of 300 steps.
    assert [row.step_ms for row in rows] == pytest.approx([25, 25, 10])
    assert cells(rows[0])[1:4] == ("≤ 25.00", "1.000", "–")
    assert rows[1].step_ratio == 1
    assert rows[2].step_ratio is None


def test_bytes_are_those_of_the_files_and_passes_those_of_the_samplers(
    write_run: WriteRun, tmp_path: Path
) -> None:
    er, mir = write_run("er", 0), write_run("mir", 0)
    write_bytes(er / "memory" / "shards" / "a.safetensors", b"1234")
    write_bytes(mir / "memory" / "a.safetensors", b"12345678")
    write_bytes(mir / "penalty" / "00-a.safetensors", b"123")
    routing = read_json(mir / "routing.json")
    for entry in routing:
        entry["passes"] = {"forward": 6, "backward": 2, "frames": 64}
    write_json(mir / "routing.json", routing)
    summary = write_report([er, mir], tmp_path / "report.html")
    first, second = summary.overhead
    assert (first.memory_bytes, first.penalty_bytes, first.memory_ratio) == (4, 0, 1)
    assert (second.memory_bytes, second.penalty_bytes, second.memory_ratio) == (8, 3, 2)
    # The first of the four tasks meets an empty memory.
    assert second.passes_per_task == {"forward": 4.5, "backward": 1.5, "frames": 48}
    assert cells(second)[5:] == ("4.5 + 1.5, 48 frames", "8 (2.00 × er)", "3")


def test_the_page_the_markdown_and_the_json_hold_the_same_table(
    timed_run: WriteRun, tmp_path: Path
) -> None:
    folders = [timed_run(m, 0, step_ms=12.34, transition_ms=2) for m in ("er", "phaser")]
    summary = write_report(folders, tmp_path / "report.html")
    page, text = (tmp_path / "report.html").read_text(), as_markdown(summary)
    for cell in (*HEADINGS, *cells(summary.overhead[1])):
        assert cell in page
        assert cell in text
    written = json.loads(json.dumps(summary_json(summary), allow_nan=False))
    assert written["overhead"][1]["step_ms"] == pytest.approx(12.34)


def test_passes_that_are_no_counts_are_refused(write_run: WriteRun) -> None:
    folder = write_run("mir", 0)
    routing = read_json(folder / "routing.json")
    routing[0]["passes"] = {"forward": "many", "backward": 0, "frames": 0}
    write_json(folder / "routing.json", routing)
    with pytest.raises(BrokenFile, match="forward"):
        read_run(folder)
