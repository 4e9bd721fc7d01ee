"""Numbers that docs quote are what the committed rows of finished cells say."""

from pathlib import Path

import pytest

from benchmarks.small_tables import finished, rows_of_differences, rows_of_methods
from phaser.evaluation.comparison import estimate_asr
from phaser.report.arms import Arm, difference

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "results"


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


def test_no_committed_row_names_a_place_on_a_machine():
    texts = [one.read_text() for one in RESULTS.rglob("*.json")]
    assert texts
    assert not [text for text in texts if '"/' in text or "~/" in text]
