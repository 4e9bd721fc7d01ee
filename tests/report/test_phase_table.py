"""Losses of short and long phases: means over seeds, paired differences with their interval."""

from types import SimpleNamespace

import pytest

from phaser.evaluation.phase_losses import PhaseLoss
from phaser.report.contrasts import EVERY
from phaser.report.phase_table import cells, headings, phase_rows


def run(seed, short, long):
    phases = [
        PhaseLoss(task="t", phase_index=k, phase="p", share=share, final_loss=loss, increase=None)
        for k, (share, loss) in enumerate([(0.1, short), (0.9, long)])
    ]
    return SimpleNamespace(seed=seed, phases=tuple(phases))


def groups():
    # phaser minus er on short phases: -0.1, -0.2, -0.3 over seeds 0, 1, 2; long: +0.05 each.
    return {
        "er": [run(0, 0.5, 0.2), run(1, 0.6, 0.3), run(2, 0.7, 0.4)],
        "phaser": [run(2, 0.4, 0.45), run(0, 0.4, 0.25), run(1, 0.4, 0.35), run(9, 0.4, 9.0)],
    }


def test_differences_are_paired_by_seed_whatever_the_order_of_the_runs():
    row = phase_rows(groups(), EVERY)[1]
    short, long = row.differences["short", "er"], row.differences["long", "er"]
    assert (short.mean, short.num_seeds) == (pytest.approx(-0.2), 3)
    assert short.interval.lower < -0.2 < short.interval.upper
    assert long.mean == pytest.approx(0.05)
    assert short.p_value == pytest.approx(2 / 2**3)


def test_a_method_is_not_compared_with_itself_or_with_one_that_is_not_there():
    er, phaser = phase_rows(groups(), EVERY)
    assert er.differences == {}
    assert {baseline for _, baseline in phaser.differences} == {"er"}


def test_a_row_has_a_cell_for_every_heading():
    rows = phase_rows(groups(), EVERY)
    assert all(len(cells(row, ["er"])) == len(headings(["er"])) for row in rows)
    assert cells(rows[0], ["er"]) == ("er", "0.600", "0.300", "–", "–")


def test_a_method_without_short_phases_has_no_row():
    long_only = SimpleNamespace(seed=0, phases=run(0, 0.1, 0.2).phases[1:])
    assert phase_rows({"er": [long_only]}, EVERY) == ()


def test_one_seed_has_a_difference_but_no_interval_and_no_p():
    one = {"er": [run(0, 0.5, 0.2)], "phaser": [run(0, 0.4, 0.3)]}
    found = phase_rows(one, EVERY)[1]
    assert found.differences["short", "er"].interval is None
    assert cells(found, ["er"])[3] == "−0.100, 1 seed"
