"""Tables for the terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from phaser.report.page import write_report
from phaser.report.tables import as_markdown, as_text
from phaser.report.wording import points


def test_the_terminal_table_is_aligned_and_complete(
    write_run: Callable[..., Path], tmp_path: Path
) -> None:
    folders = [write_run(method, seed) for method in ("er", "phaser") for seed in (0, 1)]
    summary = write_report([*folders, write_run("joint", 0)], tmp_path / "report.html")
    main, differences, settled = as_text(summary).split("\n\n")
    header, rule, *rows = main.splitlines()
    assert header.split()[:2] == ["method", "ASR"]
    assert {len(row) for row in rows} == {len(rule)}
    assert [row.split()[0] for row in rows] == ["er", "phaser", "joint"]
    assert differences.split()[:2] == ["method", "minus"]
    assert max(map(len, f"{main}\n{differences}".splitlines())) <= 80
    assert settled.count("not settled: ") == 2


def test_a_terminal_shows_two_baselines_once_and_verdicts_together(
    write_run: Callable[..., Path], tmp_path: Path
) -> None:
    methods = ("er", "er-even", "phaser")
    folders = [write_run(method, seed) for method in methods for seed in range(2)]
    _, differences, settled = as_text(write_report(folders, tmp_path / "page.html")).split("\n\n")
    pairs = [tuple(line.split()[:2]) for line in differences.splitlines()[2:]]
    assert pairs == [("er-even", "er"), ("phaser", "er"), ("phaser", "er-even")]
    assert max(map(len, f"{differences}\n{settled}".splitlines())) <= 80
    told = " ".join(settled.split())
    assert all(f"{one} minus {other}" in told for one, other in pairs)


def test_markdown_rows_have_as_many_cells_as_the_heading(
    write_run: Callable[..., Path], tmp_path: Path
) -> None:
    folders = [write_run(method, 0) for method in ("er", "er-even", "a|b")]
    text = as_markdown(write_report(folders, tmp_path / "report.html"))
    for block in text.strip().split("\n\n"):
        assert len({line.replace("\\|", "").count("|") for line in block.splitlines()}) == 1
    assert "| a\\|b |" in text


def test_a_difference_is_never_minus_zero() -> None:
    assert points(-0.0) == "+0.0"
    assert points(-0.0001) == "+0.0"
    assert points(-0.125) == "−12.5"
    assert points(0.2) == "+20.0"


def test_p_values_allow_for_how_many_methods_are_compared_but_not_for_bounds(
    write_run: Callable[..., Path], tmp_path: Path
) -> None:
    names = ("er", "er-even", "phaser", "joint")
    folders = [write_run(method, seed) for method in names for seed in (0, 1)]
    summary = write_report(folders, tmp_path / "report.html")
    found = {row.method: row.differences["er"] for row in summary.table if row.method != "er"}
    assert found["joint"].p_corrected is None
    smallest = min(found["er-even"].p_value, found["phaser"].p_value)
    corrected = {found[name].p_corrected for name in ("er-even", "phaser")}
    assert min(corrected) == min(1.0, 2 * smallest)
    assert f"(Holm {found['phaser'].p_corrected:.3g})" in as_markdown(summary)
