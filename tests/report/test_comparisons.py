"""Comparisons that are asked for, on single tasks, and while the streams are still running."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from phaser.cli import main
from phaser.report.contrasts import Contrasts
from phaser.report.page import write_report
from phaser.report.script import SCRIPT
from phaser.report.tables import as_text

WriteRun = Callable[..., Path]


def test_only_contrasts_that_were_asked_for_are_tested_and_corrected_together(
    write_run: WriteRun, tmp_path: Path
) -> None:
    names = ("er", "mir", "phase-only", "phaser")
    folders = [write_run(method, seed) for method in names for seed in (0, 1)]
    asked = Contrasts((("phaser", "phase-only"), ("phaser", "mir")))
    summary = write_report(folders, tmp_path / "report.html", contrasts=asked)
    found = {row.method: row.differences for row in summary.table if row.differences}
    assert list(found) == ["phaser"]
    assert list(found["phaser"]) == ["phase-only", "mir"]
    smallest = min(one.p_value for one in found["phaser"].values())
    assert min(one.p_corrected for one in found["phaser"].values()) == min(1.0, 2 * smallest)
    assert "phaser minus mir" in as_text(summary)


def test_a_contrast_with_a_method_that_was_not_run_is_one_line(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = write_run("er", 0).parent
    command = ["report", str(folder), "--out", str(tmp_path / "p.html")]
    assert main.execute([*command, "--contrast", "er", "mirr"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_one_seed_prints_no_p_no_holm_and_no_interval_of_zero_width(
    write_run: WriteRun, tmp_path: Path
) -> None:
    folders = [write_run(method, 0) for method in ("er", "er-even", "phaser")]
    summary = write_report(folders, tmp_path / "report.html")
    found = summary.table[-1].differences["er"]
    assert (found.p_value, found.p_corrected, found.detectable) == (None, None, None)
    assert found.interval is not None
    assert found.interval.lower < found.interval.upper
    page = (tmp_path / "report.html").read_text().replace(SCRIPT, "")
    assert "p = " not in page
    assert "Holm 1" not in page
    assert "not settled: 1 seed" in page


def test_tasks_are_compared_rollout_by_rollout_where_all_seeds_have_them(
    write_run: WriteRun, tmp_path: Path
) -> None:
    folders = [write_run("er", 0, final=(2, 5, 5, 9)), write_run("phaser", 0, final=(9, 5, 4, 9))]
    summary = write_report(folders, tmp_path / "report.html")
    first, *_, last = summary.by_task["phaser", "er"]
    assert (first.first_only, first.second_only, first.pairs) == (7, 0, 10)
    assert first.p_value == pytest.approx(2 / 2**7)
    assert first.p_corrected == pytest.approx(4 * 2 / 2**7)
    assert last.p_value == 1.0


def test_streams_may_be_looked_at_until_they_decide(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for seed in range(9):
        tasks = (f"first-{seed}", f"second-{seed}")
        write_run("er", seed, tasks=tasks, final=(3, 4))
        folder = write_run("phaser", seed, tasks=tasks, final=(6, 6 + seed % 3)).parent
    command = ["report", str(folder), "--out", str(tmp_path / "page.html"), "--stop-early"]
    assert main.execute(command) == 0
    assert "phaser minus er: decided after 6 of 9 streams, stop" in capsys.readouterr().out
    assert main.execute([*command, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["stop_early"]
    assert (found["stop"], found["decided_after"], found["num_streams"]) == (True, 6, 9)
