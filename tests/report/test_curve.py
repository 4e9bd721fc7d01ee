"""Several budgets in one report: the mean over budgets first, then budget by budget."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from written_runs import write_run_folder

from phaser.cli import main
from phaser.cli.output import write_pages
from phaser.memory.budget import Budget
from phaser.report.by_budget import runs_by_budget
from phaser.report.curve import Curve, curves
from phaser.report.curve_tables import contrast_rows

BETTER = {5: (3, 2, 1, 3, 2, 2), 20: (1, 2, 3, 1, 2, 2)}
"""How many of ten rollouts phaser solves more than er, by budget, then by stream."""


def written(
    place: Path, method: str, budget: int, gains: Sequence[int], *, seeds: Sequence[int]
) -> list[Path]:
    return [
        write_run_folder(
            place / f"{method}-b{budget}-s{seed}",
            method,
            seed,
            tasks=(f"first-{seed}", f"second-{seed}"),
            budget=Budget.per_task(budget),
            final=(4 + seed % 3 + gains[seed], 5),
        )
        for seed in seeds
    ]


def grid(place: Path) -> list[Path]:
    folders = []
    for budget, gains in BETTER.items():
        folders += written(place, "er", budget, [0] * 6, seeds=range(6))
        folders += written(place, "phaser", budget, gains, seeds=range(6))
    return folders


def one_curve(folders: Sequence[Path]) -> Curve:
    (curve,) = curves(runs_by_budget(folders))
    return curve


def test_the_mean_over_budgets_has_an_interval_and_a_p_of_its_own(tmp_path: Path) -> None:
    curve = one_curve(grid(tmp_path))
    (contrast,) = curve.contrasts
    assert (contrast.method, contrast.baseline) == ("phaser", "er")
    assert [budget.amount for budget in contrast.budgets] == [5, 20]
    # Half the tasks gain (3 + 1) / 2, (2 + 2) / 2 and so on of ten: ten points in every stream.
    assert contrast.over_budgets.mean == pytest.approx(0.1)
    assert contrast.over_budgets.p_value == 2 / 64
    assert contrast.over_budgets.num_seeds == 6


def test_budgets_vary_more_than_their_mean_and_are_corrected_for_their_number(
    tmp_path: Path,
) -> None:
    (contrast,) = one_curve(grid(tmp_path)).contrasts
    five, twenty = contrast.at_budget.values()
    assert five.mean == pytest.approx(sum(BETTER[5]) / 120)
    assert twenty.mean == pytest.approx(sum(BETTER[20]) / 120)
    assert five.p_corrected == twenty.p_corrected == 2 * 2 / 64
    assert contrast.over_budgets.p_corrected == 2 / 64


def test_a_budget_that_a_stream_lacks_is_left_out_of_the_mean_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = grid(tmp_path)
    for method in ("er", "phaser"):
        folders += written(tmp_path, method, 50, [1, 0, 2, 0, 0, 0], seeds=range(5))
    (contrast,) = one_curve(folders).contrasts
    assert [budget.amount for budget in contrast.budgets] == [5, 20]
    assert contrast.left_out == (Budget.per_task(50),)
    assert contrast.at_budget[Budget.per_task(50)].num_seeds == 5
    assert main.execute(["report", str(tmp_path), "--out", str(tmp_path / "report.html")]) == 0
    said = "phaser minus er: the mean leaves out 50 frames per task"
    assert said in capsys.readouterr().out
    assert said in (tmp_path / "report.html").read_text()


def test_a_method_at_one_budget_has_a_point_and_no_mean(tmp_path: Path) -> None:
    folders = grid(tmp_path) + written(tmp_path, "er-even", 20, [1] * 6, seeds=range(6))
    curve = one_curve(folders)
    assert [len(found) for found in curve.methods.values()] == [2, 1, 2]
    assert {(one.method, one.baseline) for one in curve.contrasts} == {("phaser", "er")}


def test_two_baselines_are_compared_once(tmp_path: Path) -> None:
    folders = grid(tmp_path)
    for budget in (5, 20):
        folders += written(tmp_path, "er-even", budget, [1] * 6, seeds=range(6))
    pairs = [(one.method, one.baseline) for one in one_curve(folders).contrasts]
    assert pairs == [("er-even", "er"), ("phaser", "er"), ("phaser", "er-even")]


def test_a_single_budget_shows_a_difference_by_its_corrected_p_alone(tmp_path: Path) -> None:
    curve = one_curve(grid(tmp_path))
    (contrast,) = curve.contrasts
    at_five = contrast.at_budget[Budget.per_task(5)]
    assert at_five.p_value <= 0.05 < (at_five.p_corrected or 0)
    _, mean, five, _ = contrast_rows(curve)
    assert mean[4] == "a difference is shown"
    assert five[4].startswith("not settled")


def test_a_page_over_budgets_shows_the_curve_and_leads_to_each_budget(tmp_path: Path) -> None:
    bound = write_run_folder(
        tmp_path / "joint", "joint", 0, tasks=("first-0", "second-0"), final=(9, 9)
    )
    pages = write_pages([*grid(tmp_path), bound], tmp_path / "report.html")
    assert [page.name for page, _ in pages.reports] == ["report-b5.html", "report-b20.html"]
    text = (tmp_path / "report.html").read_text()
    assert 'href="report-b5.html"' in text
    assert "Success after the last task against frames per task" in text
    assert "Success after the last task against encoded bytes per task" in text
    assert 'stroke-dasharray="1 3"' in text, "joint's line across"
    assert "Averaged over budgets, phaser minus er is +10.0 points over 2 budgets" in text
    assert "with 5 frames per task" in text
    assert not re.search(r"https?:|url\((?!#)", text)


def test_runs_that_counted_no_bytes_have_no_axis_in_bytes(tmp_path: Path) -> None:
    folders = grid(tmp_path)
    for folder in folders:
        held = json.loads((folder / "budget.json").read_text())
        del held["bytes_per_task"]
        (folder / "budget.json").write_text(json.dumps(held))
    write_pages(folders, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "against frames per task" in text
    assert "against encoded bytes" not in text


def test_the_curve_is_printed_as_text_markdown_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid(tmp_path)
    words = ["report", str(tmp_path), "--out", str(tmp_path / "report.html")]
    assert main.execute(words) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if "/" not in line) <= 80
    assert "phaser minus er, points, 6 seeds; mean of 5, 20 frames per task" in shown
    assert re.search(r"^mean +\+10\.0 +\[", shown, re.MULTILINE)
    assert "\nmean: a difference is shown\n" in shown
    assert main.execute([*words, "--markdown"]) == 0
    assert "| phaser | er | mean of 5, 20 | +10.0 [" in capsys.readouterr().out
    assert main.execute([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (contrast,) = found["curves"][0]["contrasts"]
    assert contrast["over_budgets"]["mean"] == pytest.approx(0.1)
    assert set(contrast["at_budget"]) == {"5 frames per task", "20 frames per task"}
    assert len(found["reports"]) == 2


def test_a_wider_margin_is_used_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid(tmp_path)
    words = ["report", str(tmp_path), "--out", str(tmp_path / "report.html"), "--margin", "30"]
    assert main.execute(words) == 0
    shown = capsys.readouterr().out
    # On the page of each budget and in the mean over budgets.
    assert shown.count("a difference is shown, but shown to be equal within ±30 points") >= 3
    assert main.execute([*words[:-1], "0"]) == 2
    assert "not a number of points" in capsys.readouterr().err
