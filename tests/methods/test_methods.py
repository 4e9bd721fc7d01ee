"""The table of methods: complete, equal in budget, fixed where the paper fixes it."""

from dataclasses import replace

import pytest
from synthetic import prepared_task

from phaser.core.errors import UnknownName
from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.memory.certificate import certificate, check_equal, phase_rows
from phaser.methods.table import METHODS, method

PROMISED = {
    "sequential",
    "er",
    "er-even",
    "er-routed",
    "phase-only",
    "phaser",
    "phaser-paper",
    "zero-budget",
    "joint",
    "icarl",
    "der",
    "agem",
    "ewc",
}


def test_every_promised_method_is_there_with_one_explaining_line():
    assert set(METHODS) >= PROMISED
    for one in METHODS.values():
        assert one.summary
        assert "\n" not in one.summary


def test_an_unknown_name_answers_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean phaser"):
        method("phasr")


@pytest.mark.parametrize("budget", [5, 20, 37])
def test_all_methods_hold_the_same_budget(budget):
    certificates = {}
    for name in METHODS:
        rows = []
        for task in (prepared_task("open"), prepared_task("close", seed=1)):
            keep, stream = method(name).keep, Streams(1).named("keep", task.task.name)
            kept = Budget.per_task(budget).keep(keep, task, stream=stream)
            rows += phase_rows(task, kept.buckets, keep)
        certificates[name] = certificate(rows)
    holding = {name: one for name, one in certificates.items() if one["total_frames"]}
    check_equal(holding)
    assert {one["total_frames"] for one in holding.values()} == {2 * budget}
    assert set(METHODS) - set(holding) == {"sequential", "joint", "ewc"}


def test_another_name_changes_nothing_else():
    changed = method("phaser").renamed("ours")
    assert changed == replace(method("phaser"), name="ours")
    assert (changed.keep, changed.draw) == (method("phaser").keep, method("phaser").draw)


def test_every_method_stands_under_its_own_name():
    assert [one.name for one in METHODS.values()] == list(METHODS)


def test_a_method_says_which_of_its_rules_asks_the_policy_for_what():
    assert method("icarl").asks == {"features": "Distil"}
    assert method("phaser-imagined").asks == {"outputs": "Imagined"}
    assert {name for name, one in METHODS.items() if one.needs_policy} == {
        *("mir", "mir-snapshot", "mir-original"),
        *("icarl", "der", "agem", "ewc"),
        *("er-imagined", "phase-imagined", "phaser-imagined"),
    }


def test_phaser_paper_is_the_papers_literal_choice():
    paper = method("phaser-paper")
    assert paper.segmenter.boundaries == "ratio"
    assert (paper.keep.within, paper.keep.stride) == ("random", 3)
    draw = paper.draw
    assert (draw.temperature, draw.language_share, draw.redundancy_penalty) == (0.25, 0.5, 0.5)
    assert (draw.over_current_phases, draw.uniform_share) == ("mean", 0.0)
    assert (draw.centre_vision, draw.motion_only, draw.weigh_by_size) == (False, False, False)


def test_the_control_differs_from_phaser_in_the_emptied_phase_alone():
    control, phaser = method("zero-budget"), method("phaser")
    assert control.draw == phaser.draw
    assert replace(control.keep, zero_phase=None) == phaser.keep
