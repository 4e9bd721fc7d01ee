"""The benchmark of demonstrations by hand: what is counted, and names against those of people."""

import numpy as np
import pytest

from phaser.phases.candidates import Candidate
from phaser.phases.shipped import read_stages
from phaser.suites.libero.recording import LAYOUT

pytest.importorskip("ruptures", reason="needs ruptures: pip install --editable '.[bench]'")
from benchmarks import hand_segmentation, hand_tables, phase_names
from benchmarks.hand_truth import by_hand, gripper_changes
from benchmarks.stage_truth import Example
from phaser.core.demonstration import Demo


def scripted(index, *, scale=1.0):
    ways = ((1, 0, -1), (0, 0, 1), (0, 1, 0))
    rows = [np.tile([*(scale * np.array(way)), 0, 0, 0, -1.0], (25, 1)) for way in ways]
    actions = np.concatenate(rows)
    actions[25:, 6] = 1.0
    actions[40:42, 6] = -1.0
    demo = Demo(task="lift", index=index, actions=actions, states=np.zeros((75, 0)), layout=LAYOUT)
    return Example(demo=demo, boundaries=(25, 50), entered=(), style="scripted")


@pytest.fixture(scope="module")
def tasks():
    return [by_hand("LIBERO", name, [scripted(0), scripted(1, scale=0.8)]) for name in "ab"]


def test_fifty_people_give_a_task_in_all_styles_without_flicker(tasks):
    examples = tasks[0].examples
    assert len(examples) == 50
    assert len({one.style for one in examples}) == 6
    assert {len(gripper_changes(one)) for one in examples} == {1}
    assert not np.array_equal(examples[0].demo.actions, examples[30].demo.actions)


def test_everything_found_counts_as_one_and_nothing_as_none(tasks):
    told = hand_segmentation._scores(lambda one: list(one.boundaries), tasks)
    assert (told["5"]["f1"], told["gripper"]) == (1.0, 1.0)
    blind = hand_segmentation._scores(lambda one: [], tasks)
    assert (blind["5"]["f1"], blind["gripper"]) == (0.0, 0.0)


def test_tables_have_a_line_for_every_rule_style_and_size(tasks, monkeypatch):
    monkeypatch.setattr(hand_segmentation, "SIZES", (3,))
    found = {
        "rules": hand_segmentation._rules(tasks, tasks),
        "styles": hand_segmentation._styles(tasks),
        "whole": {"3": hand_segmentation._whole(tasks, 3)},
    }
    text = "\n".join(hand_tables.markdown(found))
    assert text.count("| Auto-PC | as it is |") == 1
    assert "| mostly idle |" in text
    assert "| 3 demonstrations | five phases |" in text
    assert hand_segmentation.headline(found)["gripper"] == 1.0


def test_verbs_of_people_and_ours_are_put_in_the_same_words():
    people = read_stages("libero-goal")["open_the_top_drawer_and_put_the_bowl_inside"].names
    assert phase_names.verbs(people) == ["approach", "pull", "approach", "move"]
    ours = ("approach", "align", "grasp", "lift", "transport", "place", "release")
    assert phase_names.verbs(ours) == ["approach", "move"]


def test_verbs_agree_as_far_as_they_come_in_the_same_order():
    assert phase_names.in_common(["approach", "move"], ["approach", "pull", "approach"]) == 1
    assert phase_names.in_common(["approach", "pull", "move"], ["approach", "move"]) == 2
    assert phase_names.in_common([], ["push"]) == 0


def test_the_old_names_come_from_the_gripper_alone():
    def at(step, *tags):
        return Candidate(step=step, score=1.0, evidence=frozenset(tags))

    events = [at(5), at(10, "gripper_closes"), at(20), at(30, "gripper_opens")]
    assert phase_names.gripper_names(events) == [
        *("approach", "align", "grasp", "transport", "release")
    ]
    assert phase_names.gripper_names([at(5), at(9)]) == ["approach", "push", "push"]
