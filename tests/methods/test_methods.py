"""The table of methods: complete, equal in budget, fixed where the paper fixes it."""

from dataclasses import replace

import pytest
from synthetic import prepared_task

from phaser.core.errors import BadInput, UnknownName
from phaser.core.streams import Streams
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
            keep = method(name).with_budget(budget).keep
            buckets = keep.select(task, Streams(1).named("keep", task.task.name))
            rows += phase_rows(task, buckets, stride=getattr(keep, "stride", None))
        certificates[name] = certificate(rows)
    holding = {name: one for name, one in certificates.items() if one["total_frames"]}
    check_equal(holding)
    assert {one["total_frames"] for one in holding.values()} == {2 * budget}
    assert set(METHODS) - set(holding) == {"sequential", "joint", "ewc"}


def test_another_budget_changes_nothing_else():
    changed = method("phaser").with_budget(50)
    assert changed == replace(
        method("phaser"), keep=replace(method("phaser").keep, frames_per_task=50)
    )
    assert method("joint").with_budget(50) is method("joint")


@pytest.mark.parametrize(("name", "budget"), [("er", -1), ("er", 0), ("sequential", -1)])
def test_a_senseless_budget_is_refused(name, budget):
    with pytest.raises(BadInput, match="budget"):
        method(name).with_budget(budget)


def test_phaser_paper_is_the_papers_literal_choice():
    paper = method("phaser-paper")
    assert paper.boundaries == "ratio"
    assert (paper.keep.within, paper.keep.stride) == ("random", 3)
    draw = paper.draw
    assert (draw.temperature, draw.language_share, draw.redundancy_penalty) == (0.25, 0.5, 0.5)
    assert (draw.over_current_phases, draw.uniform_share) == ("mean", 0.0)
    assert (draw.centre_vision, draw.motion_only, draw.weigh_by_size) == (False, False, False)


def test_the_control_differs_from_phaser_in_the_emptied_phase_alone():
    control, phaser = method("zero-budget"), method("phaser")
    assert control.draw == phaser.draw
    assert replace(control.keep, zero_phase=None) == phaser.keep
