"""`phaser power`: the spread of a pilot, what a design finds, and what cannot be planned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from written_runs import write_run_folder

from phaser.cli import main
from phaser.memory.budget import Budget

ER = {5: [(3, 3), (4, 2), (2, 3), (5, 4)], 20: [(6, 5), (5, 5), (7, 6), (6, 7)]}
PHASER = {5: [(5, 4), (4, 4), (3, 3), (4, 4)], 20: [(6, 8), (5, 4), (8, 8), (6, 6)]}
"""Successes in ten rollouts of two tasks, by budget, then by stream."""


def pilot(
    place: Path, *, budgets: Sequence[int] = (5, 20), streams: Sequence[int] = (0, 1, 2, 3)
) -> Path:
    for method, counts in (("er", ER), ("phaser", PHASER)):
        for budget in budgets:
            for stream in streams:
                write_run_folder(
                    place / f"{method}-b{budget}-s{stream}",
                    method,
                    stream,
                    tasks=(f"first-{stream}", f"second-{stream}"),
                    budget=Budget.per_task(budget),
                    final=counts[budget][stream],
                )
    return place


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main.execute(["power", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err


def test_a_pilot_gives_the_spread_and_the_streams_that_are_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.execute(["power", str(pilot(tmp_path)), "--gap", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # Differences in points: 15, 10, 5, -5 with 5 frames and 15, -5, 15, -5 with 20.
    assert found["budgets"]["5 frames per task"]["mean"] == pytest.approx(0.0625)
    assert found["budgets"]["20 frames per task"]["mean"] == pytest.approx(0.05)
    # The means over budgets are 15, 2.5, 10 and -5: a standard deviation of 8.75 points.
    assert found["over_budgets"]["deviation"] == pytest.approx(0.0875, abs=1e-4)
    designs = {one["num_rollouts"]: one for one in found["designs"]}
    # The formula of a normal test: (2.8 * 8.75 / 3)², a few more because signs are flipped.
    assert designs[10]["needed"] == pytest.approx((2.8 * 8.75 / 3) ** 2, abs=8)
    assert designs[50]["needed"] < designs[10]["needed"] < designs[5]["needed"]
    assert designs[10]["needed_at_most"] is None


def test_the_text_says_the_same_and_says_it_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(pilot(tmp_path))
    assert main.execute(["power", place, "--gap", "10"]) == 0
    shown = capsys.readouterr().out
    assert "phaser minus er: 4 streams, 10 rollouts per task" in shown
    rows = {line.split("  ")[0]: line.split() for line in shown.splitlines() if line}
    assert rows["mean over budgets"][3:5] == ["+5.6", "8.8"]
    assert "Power to find 10 points in the mean over budgets" in shown
    shares = [int(rows[f"{n} streams"][4]) for n in (6, 8, 12, 16)]
    assert shares == sorted(shares)
    assert shares[0] < 50 < 90 < shares[-1]
    assert main.execute(["power", place, "--gap", "10"]) == 0
    assert capsys.readouterr().out == shown


def test_two_streams_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = pilot(tmp_path, streams=(0, 1))
    assert "2 streams have both methods; a spread needs at least 3" in refused(capsys, str(place))


def test_a_method_that_did_not_run_is_refused_with_those_that_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = pilot(tmp_path, budgets=(5,))
    said = refused(capsys, str(place), "--against", "er-even")
    assert "unknown method among these runs 'er-even'; known: er, phaser" in said


def test_a_stream_without_one_of_the_budgets_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pilot(tmp_path / "a", budgets=(5,))
    pilot(tmp_path / "b", budgets=(20,), streams=(0, 1, 2))
    said = refused(capsys, str(tmp_path / "a"), str(tmp_path / "b"))
    assert "stream 3 lacks a budget that others have: 20 frames per task" in said


def test_frames_and_bytes_are_not_averaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = pilot(tmp_path, budgets=(5,))
    budget = Budget.bytes_per_task(25_000)
    write_run_folder(place / "bytes", "er", 0, budget=budget, held=20)
    assert "needs budgets of one kind" in refused(capsys, str(place))


@pytest.mark.parametrize("gap", ["0", "-3", "100", "nan", "three"])
def test_a_gap_that_is_none_is_refused(
    gap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "not a number of points" in refused(capsys, str(tmp_path), f"--gap={gap}")


def test_a_method_is_not_compared_with_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = pilot(tmp_path, budgets=(5,))
    assert "name two methods" in refused(capsys, str(place), "--method", "er")
