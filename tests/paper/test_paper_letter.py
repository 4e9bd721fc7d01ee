"""Where a method claims to be the paper's, it is so to the letter; one test per claim."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from phaser.core.demonstration import Demo, Task
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.experiments.folder import CellFolder
from phaser.experiments.presets import preset
from phaser.methods.table import METHODS
from phaser.phases.annotated import Annotated
from phaser.phases.shipped import read_stages
from phaser.replay.preparing import segmenter_for
from phaser.routing.max_interference import Refreshes
from phaser.routing.routed import Routed
from phaser.testing.draw import MadeUpProbe
from phaser.testing.made_up import LAYOUT, made_up_task

PAPER = METHODS["phaser-paper"]
STREAM = Streams(0).named("paper")


def speeds(*values: float) -> Demo:
    """Motion along x with these speeds; the gripper stays open."""
    actions = np.array([[speed, 0, 0, -1] for speed in values])
    return Demo(task="t", index=0, actions=actions, states=actions, layout=LAYOUT)


def routed(draw: Routed, scale: float) -> np.ndarray:
    """Weights of a draw where action dimension 0 is in other units."""
    units = np.array([scale, 1, 1, 1])

    def in_units(task):
        changed = [replace(one, action=one.action * units) for one in task.prototypes]
        return replace(task, prototypes=tuple(changed))

    old, new = in_units(made_up_task("lift")), in_units(made_up_task("push"))
    memory = Memory().with_buckets(PAPER.keep.select(old, 9, STREAM))
    return draw.for_task(memory, new, STREAM, MadeUpProbe()).weights()


def test_phaser_paper_cuts_with_the_papers_score_and_counts_every_slow_step() -> None:
    rules = PAPER.segmenter.signals
    assert (rules.motion_weight, rules.gripper_weight, rules.slow_weight) == (0.3, 1.0, 0.4)
    assert (rules.change_window, rules.context_window, rules.idle_speed) == (1, 0, 0)
    # Four slow steps in a row: 0.4 [‖a‖ < τ_v] at each; where nothing changes it stands alone.
    demo = speeds(*[1.0] * 8, *[0.2] * 4, *[1.0] * 8)
    score = PAPER.segmenter.score(demo)
    assert score[8] == pytest.approx(0.4 + 0.3 * 0.8)
    assert score[9:12] == pytest.approx([0.4, 0.4, 0.4])
    assert score[5] == 0


def test_phaser_paper_applies_the_ratios_of_one_demonstration_to_all() -> None:
    assert PAPER.segmenter.boundaries == "ratio"
    demos = [speeds(*[1.0] * 20, *[-1.0] * stop) for stop in (20, 20, 60)]
    for index, demo in enumerate(demos):
        object.__setattr__(demo, "index", index)
    cuts = PAPER.segmenter.segment(demos)
    ratios = [[step / one.num_frames for step in one.boundaries] for one in cuts]
    assert ratios[0]
    for one in ratios[1:]:
        assert one == pytest.approx(ratios[0], abs=1 / 40)


def test_the_action_prototypes_of_phaser_paper_do_not_depend_on_units() -> None:
    assert routed(PAPER.draw, 1.0) == pytest.approx(routed(PAPER.draw, 1000.0))
    raw = replace(PAPER.draw, normalise_actions=False)
    assert routed(raw, 1.0) != pytest.approx(routed(raw, 1000.0))


def test_mir_is_scored_200_times_per_task_as_every_50_of_10_000_steps() -> None:
    count = METHODS["mir"].draw.refreshes_per_task
    paper = Refreshes(count=count, num_steps=10_000)
    assert sorted({paper.last(step) for step in range(10_000)}) == list(range(0, 10_000, 50))
    ours = Refreshes(count=count, num_steps=300)
    assert len({ours.last(step) for step in range(300)}) == 200


def test_er_routed_and_the_zero_budget_control_exist_with_the_papers_routing() -> None:
    for name in ("er-routed-paper", "zero-budget-paper"):
        assert METHODS[name].draw == PAPER.draw
    assert METHODS["er-routed-paper"].keep == METHODS["er-routed"].keep
    assert METHODS["zero-budget-paper"].keep == replace(PAPER.keep, zero_phase=0)
    assert METHODS["zero-budget-paper"].segmenter == PAPER.segmenter


def test_the_reference_entropy_is_log2_of_the_stored_phases_beside_ours(tmp_path: Path) -> None:
    old, new = made_up_task("lift"), made_up_task("push")
    memory = Memory().with_buckets(METHODS["er"].keep.select(old, 20, STREAM))
    sampler = PAPER.draw.for_task(memory, new, STREAM, MadeUpProbe())
    folder = CellFolder(tmp_path)
    folder.add_routing("push", SimpleNamespace(sampler=sampler, past=memory))
    (row,) = json.loads((tmp_path / "routing.json").read_text())
    assert row["phase_entropy_bits"] == pytest.approx(math.log2(3))
    # Phases of other sizes: all frames alike are fewer bits than all phases alike.
    assert row["entropy_bits"] <= row["phase_entropy_bits"]
    assert row["uniform_entropy_bits"] < row["phase_entropy_bits"]


def test_the_shipped_human_phases_are_found_by_name_in_runs_and_replay() -> None:
    stages = read_stages("libero-goal")
    run = preset("libero-goal").with_phases("libero-goal")
    assert len(run.phases) == 10
    name = "put_the_bowl_on_the_stove"
    expected = tuple(phase.name for phase in stages[name].phases)
    assert run.segmenter_of(name).annotation.names == expected
    task = Task(name=name, instruction="put the bowl on the stove")
    found = segmenter_for("libero-goal", task, METHODS["phaser"])
    assert isinstance(found, Annotated)
    assert found.annotation.names == expected
