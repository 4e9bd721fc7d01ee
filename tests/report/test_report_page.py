"""The page says what was measured, escapes everything and refuses what cannot be compared."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from phaser.cli.output import write_pages
from phaser.core.errors import BadInput, BudgetMismatch
from phaser.core.files import read_json, write_json
from phaser.memory.budget import Budget
from phaser.report.page import write_report
from phaser.report.script import SCRIPT

WriteRun = Callable[..., Path]
BYTES, SMALL = Budget.bytes_per_task(25_000), Budget.bytes_per_task(20_000)
VOID = {"meta", "br", "link", "img", "input"}


class Balance(HTMLParser):
    """Collects tags and checks that each one opened is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def all_runs(write_run: WriteRun, **changes: object) -> list[Path]:
    replay = ("er", "er-even", "phaser")
    folders = [write_run(method, seed, **changes) for method in replay for seed in (0, 1)]
    return [*folders, write_run("sequential", 0, **changes), write_run("joint", 0, **changes)]


def test_the_page_is_one_well_formed_file_without_outside_resources(
    write_run: WriteRun, tmp_path: Path
) -> None:
    write_report(all_runs(write_run), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    parser = Balance()
    parser.feed(page)
    assert not parser.open
    assert not parser.seen & {"link", "iframe", "object", "embed"}
    assert page.count("<script") == 1
    assert f"<script>{SCRIPT}</script>" in page
    assert not re.search(r"https?:|url\((?!#)|@import|<[^>]*\son\w+=", page.replace(SCRIPT, ""))
    for method in ("er", "er-even", "phaser", "sequential", "joint"):
        assert method in page
    assert "phaser run metaworld-10 --method er-even --seed 1" in page
    assert "Equal: er, er-even, phaser each hold 21 frames per task, 84 frames in total" in page


def test_a_task_named_like_a_script_is_escaped_everywhere(
    write_run: WriteRun, tmp_path: Path
) -> None:
    hostile = ("<script>alert(1)</script>", 'x" onload="alert(2)', "window-open")
    folders = [write_run(method, 0, tasks=hostile) for method in ("er", "phaser")]
    for folder in folders:
        about = read_json(folder / "run.json")
        markup = "</pre><script>alert(3)</script>"
        write_json(
            folder / "run.json",
            about | {"command": markup, "preset": markup, "versions": {markup: markup}},
        )
    write_report(folders, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    parser = Balance()
    parser.feed(page)
    assert page.count("<script") == 1, "the page's own"
    assert "&lt;script&gt;alert(1)" in page
    assert not re.search(r'<[^>]*\sonload="', page)


def test_the_sentence_gives_both_rates_the_difference_and_its_interval(
    write_run: WriteRun, tmp_path: Path
) -> None:
    summary = write_report(all_runs(write_run), tmp_path / "report.html")
    rows = {row.method: row for row in summary.table}
    difference = rows["phaser"].differences["er"]
    learnt = summary.answer.partition(". ")[0]
    assert learnt.startswith("After learning 4 tasks one after another: without rehearsal ")
    assert f"{4 * rows['phaser'].asr.mean:.1f}".removesuffix(".0") + " of 4 with phaser" in learnt
    assert f"phaser keeps {100 * rows['phaser'].asr.mean:.1f} %" in summary.sentence
    assert f"er keeps {100 * rows['er'].asr.mean:.1f} %" in summary.sentence
    assert f"{100 * difference.mean:+.1f}".replace("-", "−") + " points" in summary.sentence
    assert "over 2 seeds × 4 tasks" in summary.sentence
    assert "er-even keeps" in summary.sentence


def test_a_single_seed_is_said_to_be_one(write_run: WriteRun, tmp_path: Path) -> None:
    folders = [write_run(method, 0) for method in ("er", "phaser")]
    summary = write_report(folders, tmp_path / "report.html")
    assert "over 4 tasks only, 1 seed" in summary.sentence


def test_a_single_method_gets_a_page_too(write_run: WriteRun, tmp_path: Path) -> None:
    for method in ("sequential", "joint"):
        summary = write_report([write_run(method, 3)], tmp_path / "report.html")
        assert f"{method} keeps" in summary.sentence


def test_different_budgets_are_refused_and_no_page_is_written(
    write_run: WriteRun, tmp_path: Path
) -> None:
    folders = [write_run("er", 0), write_run("phaser", 0, budget=Budget.per_task(24))]
    with pytest.raises(BudgetMismatch, match=r"phaser \(seed 0\) holds 24 frames, er .* 21"):
        write_report(folders, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_budgets_within_a_wider_tolerance_are_compared(write_run: WriteRun, tmp_path: Path) -> None:
    folders = [write_run("er", 0), write_run("phaser", 0, budget=Budget.per_task(24))]
    write_report(folders, tmp_path / "report.html", budget_tolerance=0.15)
    assert (tmp_path / "report.html").exists()


def test_runs_within_the_same_bytes_are_compared_whatever_their_frames(
    write_run: WriteRun, tmp_path: Path
) -> None:
    folders = [
        write_run("sequential", 0),
        write_run("er", 0, budget=BYTES, held=21),
        write_run("phaser", 0, budget=BYTES, held=24),
    ]
    write_report(folders, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "er, phaser each hold as many frames as fit into 25,000 bytes per task" in page
    assert "21,000 to 24,000 bytes, 21 to 24 frames" in page
    assert "24 (8+8+8), 24,000 bytes" in page


@pytest.mark.parametrize(
    ("budget", "held", "message"),
    [
        (SMALL, 21, r"phaser \(seed 0\) holds 21000 bytes, given 20000"),
        (SMALL, 0, "phaser .* holds 0 bytes, given 20000"),
        (Budget.total_bytes(83_999), 21, "holds 84000 bytes, given 83999 in total"),
        (Budget.total(83), 21, "holds 84 frames, given 83 in total"),
    ],
)
def test_a_memory_beyond_its_budget_is_refused(
    write_run: WriteRun, tmp_path: Path, budget: Budget, held: int, message: str
) -> None:
    with pytest.raises(BudgetMismatch, match=message):
        write_report([write_run("phaser", 0, budget=budget, held=held)], tmp_path / "report.html")


@pytest.mark.parametrize(
    "other", [Budget.per_task(21), Budget.bytes_per_task(26_000), Budget.total_bytes(100_000)]
)
def test_bytes_are_compared_with_the_same_number_of_bytes_only(
    write_run: WriteRun, tmp_path: Path, other: Budget
) -> None:
    folders = [
        write_run("er", 0, budget=other, held=21),
        write_run("phaser", 0, budget=BYTES, held=21),
    ]
    with pytest.raises(BudgetMismatch, match="budgets of different kinds or sizes"):
        write_report(folders, tmp_path / "report.html")


def test_frames_and_bytes_get_pages_of_their_own(write_run: WriteRun, tmp_path: Path) -> None:
    folders = [
        write_run("sequential", 0),
        write_run("er", 0),
        write_run("phaser", 0, budget=BYTES, held=21),
        write_run("er-even", 0, budget=Budget.bytes_per_task(30_000), held=21),
    ]
    pages = write_pages(folders, tmp_path / "report.html").reports
    assert [page.name for page, _ in pages] == [
        "report-b21.html",
        "report-b25000bytes.html",
        "report-b30000bytes.html",
    ]
    assert [[row.method for row in summary.table] for _, summary in pages] == [
        ["sequential", "er"],
        ["sequential", "phaser"],
        ["sequential", "er-even"],
    ]


def test_a_replay_method_without_frames_is_not_exempt(write_run: WriteRun, tmp_path: Path) -> None:
    folders = [write_run("er", 0, held=0), write_run("phaser", 0)]
    with pytest.raises(BudgetMismatch):
        write_report(folders, tmp_path / "report.html")


def test_cells_that_were_not_evaluated_are_hatched(write_run: WriteRun, tmp_path: Path) -> None:
    def hatched(folders: list[Path]) -> int:
        write_report(folders, tmp_path / "report.html")
        return (tmp_path / "report.html").read_text().count('fill="url(#unmeasured)"')

    assert hatched([write_run("er", 0)]) == 0
    assert hatched([write_run("er", 1, full_matrix=False)]) == 3


def test_seeds_in_reverse_order_are_paired_by_task_name(
    write_run: WriteRun, tmp_path: Path
) -> None:
    orders = {0: ("a", "b", "c"), 1: ("c", "b", "a")}
    folders = [
        write_run(method, seed, tasks=order)
        for method in ("er", "phaser")
        for seed, order in orders.items()
    ]
    summary = write_report(folders, tmp_path / "report.html")
    assert summary.table[1].differences["er"].num_seeds == 2
    assert "different orders" in (tmp_path / "report.html").read_text()


def test_one_seed_in_two_orders_is_no_pair(write_run: WriteRun, tmp_path: Path) -> None:
    folders = [write_run("er", 0, tasks=("a", "b")), write_run("phaser", 0, tasks=("b", "a"))]
    with pytest.raises(BadInput, match="a pair needs one order"):
        write_report(folders, tmp_path / "report.html")


def test_the_same_runs_give_the_same_page(write_run: WriteRun, tmp_path: Path) -> None:
    folders = all_runs(write_run)
    write_report(folders, tmp_path / "one.html")
    write_report(folders[::-1], tmp_path / "two.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
