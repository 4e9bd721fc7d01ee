"""What a report calls settled, and reports of streams with tasks of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from phaser.core.errors import BadInput, BudgetMismatch
from phaser.evaluation.power import detectable_effect
from phaser.memory.budget import Budget
from phaser.report.page import write_report
from phaser.report.settled import verdict
from phaser.report.summary import Summary
from phaser.report.tables import as_markdown, as_text

WriteRun = Callable[..., Path]
ALIKE = [(5, 6), (7, 5), (6, 6), (4, 7), (8, 8), (5, 5)]


def streams(write_run: WriteRun, method: str, counts: Sequence[Sequence[int]]) -> list[Path]:
    """One run per stream of two tasks of its own."""
    return [
        write_run(method, seed, tasks=(f"first-{seed}", f"second-{seed}"), final=final)
        for seed, final in enumerate(counts)
    ]


def compared(
    write_run: WriteRun, tmp_path: Path, counts: Sequence[Sequence[int]], **settings: float
) -> Summary:
    folders = streams(write_run, "er", ALIKE) + streams(write_run, "phaser", counts)
    return write_report(folders, tmp_path / "report.html", **settings)


def test_nearly_the_same_success_in_six_streams_is_equality(
    write_run: WriteRun, tmp_path: Path
) -> None:
    nearly = [(6, 6), (7, 5), (6, 6), (5, 6), (7, 9), (4, 5)]
    summary = compared(write_run, tmp_path, nearly, margin=0.06)
    found = summary.table[-1].differences["er"]
    assert found.mean == pytest.approx(0.0)
    assert verdict(found) == "shown to be equal within ±6 points"
    page = (tmp_path / "report.html").read_text()
    assert "shown to be equal within ±6 points" in page
    assert "shown to be equal within ±6 points" in as_text(summary)
    assert "shown to be equal within ±6 points" in as_markdown(summary)


def test_a_difference_in_every_stream_is_shown_with_what_could_be_found(
    write_run: WriteRun, tmp_path: Path
) -> None:
    better = [(8, 6), (9, 7), (8, 6), (7, 7), (9, 9), (9, 5)]
    summary = compared(write_run, tmp_path, better)
    found = summary.table[-1].differences["er"]
    # Points by stream: 15, 20, 10, 15, 10 and 20, a standard deviation of the root of 20.
    effect = detectable_effect(6)
    assert effect is not None
    assert found.detectable == pytest.approx(effect * 0.2**0.5 / 10)
    assert verdict(found) == "a difference is shown"
    assert f"{100 * found.detectable:.1f} points" in as_text(summary)


def test_what_is_neither_different_nor_equal_is_not_settled(
    write_run: WriteRun, tmp_path: Path
) -> None:
    mixed = [(9, 9), (2, 2), (9, 9), (1, 4), (8, 9), (2, 6)]
    found = compared(write_run, tmp_path, mixed).table[-1].differences["er"]
    assert verdict(found) == (
        "not settled: shown to be neither different nor equal within ±3 points"
    )


def test_an_interval_beside_zero_settles_nothing_with_two_seeds(
    write_run: WriteRun, tmp_path: Path
) -> None:
    folders = streams(write_run, "er", [(1, 1), (2, 2)])
    folders += streams(write_run, "phaser", [(9, 8), (9, 9)])
    found = write_report(folders, tmp_path / "report.html").table[-1].differences["er"]
    assert found.is_clear
    assert verdict(found) == "not settled: fewer than 6 seeds"
    assert found.detectable is None


def test_streams_are_told_from_seeds_with_the_same_tasks(
    write_run: WriteRun, tmp_path: Path
) -> None:
    summary = compared(write_run, tmp_path, ALIKE)
    assert "over 6 streams of 2 tasks, so no difference is shown" in summary.sentence
    page = (tmp_path / "report.html").read_text()
    assert "over streams, each a seed with tasks of its own" in page
    assert "no task has enough runs for a curve" in page


def test_a_method_without_the_first_stream_has_no_certificate_of_it(
    write_run: WriteRun, tmp_path: Path
) -> None:
    folders = streams(write_run, "er", ALIKE) + streams(write_run, "phaser", ALIKE)[1:]
    write_report(folders, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<td>first-0</td><td>21 (7+7+7)</td><td>–</td>" in page


def test_a_stream_at_another_budget_is_refused(write_run: WriteRun, tmp_path: Path) -> None:
    folders = streams(write_run, "er", ALIKE)
    more = write_run(
        "phaser", 3, tasks=("first-3", "second-3"), final=(5, 5), budget=Budget.per_task(24)
    )
    with pytest.raises(BudgetMismatch, match=r"task 'first-3': phaser \(seed 3\) holds 24"):
        write_report([*folders, more], tmp_path / "report.html")


def test_two_methods_on_other_tasks_of_one_seed_are_refused(write_run: WriteRun) -> None:
    folders = streams(write_run, "er", ALIKE[:2])
    other = write_run("phaser", 1, tasks=("first-0", "second-0"))
    with pytest.raises(BadInput, match="different tasks; report them apart"):
        write_report([*folders, other], Path("report.html"))
