"""Numbers that docs quote are what the committed rows of finished cells say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.small_tables import finished, rows_of_differences, rows_of_methods
from phaser.cli import main
from phaser.evaluation.comparison import estimate_asr
from phaser.report.arms import Arm, difference
from phaser.report.by_budget import runs_by_budget
from phaser.report.checked_numbers import CODE, COMMENT, NUMBER
from phaser.report.curve import curves
from phaser.report.runs import finished_folders

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "results"
PAGES = ("docs/results.md", "docs/results-libero.md", "docs/overview.md")
README_ARMS = {
    "sequential": "bytes/sequential",
    "peers": "bytes/peers",
    "default": "curve/phaser-b230",
    "joint": "bytes/joint",
}

SETTINGS = {
    *("37", "0.2", "300", "64", "1.1"),  # tasks, weights in millions, steps, frames, MB
    *("5", "10", "20", "50", "60", "230"),  # frames kept of a task; 20 points, too
    *("95", "3", "15", "85", ".05", ".125"),  # levels, margins, goals, the least p of four streams
    *("0", "6", "7", "11"),  # numbers of streams
    *("100", "800", "1050", "1054", "2400"),  # LIBERO: frames kept, offered; steps
}
"""Numbers of the pages of results that were chosen, not measured."""


@pytest.mark.parametrize(("arm", "gaps"), [("c", "+10.5 (+14, +7)"), ("d", "+11.0 (+11, +11)")])
def test_the_recipe_table_is_computed_from_its_rows(arm, gaps):
    first, other = Arm.read(RESULTS / "recipe" / "a"), Arm.read(RESULTS / "recipe" / arm)
    found = difference(other, first)
    by_seed = ", ".join(f"{100 * gap:+.0f}" for gap in found.by_seed.values())
    assert f"{100 * found.mean:+.1f} ({by_seed})" == gaps
    (row,) = [
        line
        for line in (REPOSITORY / "docs/experiments/bytes.md").read_text().splitlines()
        if gaps in line and line.startswith("|")
    ]
    assert f"| {100 * estimate_asr(other.matrices).mean:.1f} | {100 * other.learnt:.1f} |" in row
    assert f"| {other.final_loss:.3f} |".replace("0.", ".") in row


def test_the_tables_of_the_small_backbone_are_computed_from_their_rows():
    quoted = (REPOSITORY / "docs/results-backbones.md").read_text().splitlines()
    grids = {"pretrained": finished(RESULTS / "small"), "random": {}}
    assert set(grids["pretrained"]) == {"sequential", "er", "phaser"}
    for row in (*rows_of_methods(grids), *rows_of_differences(grids)):
        assert row in quoted


def test_every_number_of_the_pages_on_results_is_recomputed():
    # In a process of its own, where shapes are not checked at run time: three times as fast.
    found = subprocess.run(
        [sys.executable, "-m", "phaser.cli", "report", "--check", *PAGES],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(Path(main.__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert int(found.stdout.split()[0]) > 80


@pytest.mark.parametrize("page", PAGES[:2])
def test_what_a_page_of_results_does_not_recompute_are_settings_goals_and_dates(page):
    shown = CODE.sub(" ", (REPOSITORY / page).read_text())
    shown = re.sub(r"\]\([^)]*\)|commit \w+|\d{4}-\d\d-\d\d", " ", shown)
    recomputed = re.compile(rf"{NUMBER.pattern}\s*{COMMENT.pattern}")
    left = NUMBER.findall(recomputed.sub(" ", shown))
    assert set(left) <= SETTINGS


def test_the_numbers_of_the_readme_are_those_of_the_rows():
    quoted = (REPOSITORY / "README.md").read_text()
    arms = {name: Arm.read(RESULTS / folder) for name, folder in README_ARMS.items()}
    for arm in arms.values():
        found = estimate_asr(arm.matrices)
        ends = f"[{100 * found.interval.lower:.1f}, {100 * found.interval.upper:.1f}]"
        assert f"{100 * found.mean:.1f} % {ends}" in quoted
    gain = difference(arms["default"], arms["peers"])
    ends = f"[{100 * gain.interval.lower:+.1f}, {100 * gain.interval.upper:+.1f}]"
    assert f"{100 * gain.mean:+.1f} points {ends}" in quoted
    for suite, folder in (("LIBERO-Goal", "libero-streams"), ("LIBERO-Long", "libero-long")):
        default, peers = (Arm.read(RESULTS / folder / name) for name in ("default", "peers"))
        assert peers.orders == default.orders == len(peers.runs)
        gain = difference(default, peers)
        ends = f"[{100 * gain.interval.lower:+.1f}, {100 * gain.interval.upper:+.1f}]"
        assert f"{suite} {100 * gain.mean:+.1f} {ends}" in quoted
    (curve,) = curves(runs_by_budget(finished_folders([RESULTS / "curve"])))
    leads = {(one.method, one.baseline): one.over_budgets for one in curve.contrasts}
    lead = leads["phaser", "er"]
    ends = f"[{100 * lead.interval.lower:+.1f}, {100 * lead.interval.upper:+.1f}]"
    assert f"{100 * lead.mean:+.1f} {ends} over random frames" in quoted


def test_no_committed_row_names_a_place_on_a_machine():
    texts = [one.read_text() for one in RESULTS.rglob("*.json")]
    assert texts
    assert not [text for text in texts if '"/' in text or "~/" in text]
