"""Frames of a new task under earlier instructions: only in the same scene, answered before it."""

from dataclasses import replace

import numpy as np
import pytest
from small_policy import Small, finished, table

from phaser.core.demonstration import FrameRef
from phaser.core.memory import Memory
from phaser.core.ports import Sampler
from phaser.core.streams import Streams
from phaser.methods.answers import answers
from phaser.methods.imagined import IMAGINED, Imagined
from phaser.methods.old_instructions import ASKED, frames_under_old_instructions, tasks_in_scene
from phaser.methods.rehearse import BegunTask
from phaser.methods.table import METHODS
from phaser.testing.made_up import made_up_task

STREAM = Streams(0).named("imagined")
SIGHTS = {"lift": (1, 0, 0), "pour": (0, 1, 0), "fold": (0, 0, 1), "push": (1, 0.1, 0)}


def seen(name):
    """A task that looks like its row above."""
    task = made_up_task(name)
    sight = np.array(SIGHTS[name], dtype=np.float64)
    prototypes = tuple(replace(prototype, vision=sight) for prototype in task.prototypes)
    return replace(task, prototypes=prototypes)


def memory_of(*names):
    memory = Memory()
    for name in names:
        keep, stream = METHODS["phase-even"].keep, Streams(0).named("keep", name)
        memory = memory.with_buckets(keep.select(seen(name), 12, stream))
    return memory


@pytest.fixture
def begun():
    frames = table("lift", "pour", "fold", "push")
    return BegunTask(
        task=seen("push"),
        policy=Small(),
        memory=memory_of("lift", "pour", "fold"),
        frames=frames.tasks["push"].refs("push"),
        rows=frames,
        stream=STREAM,
    )


def test_only_tasks_that_look_alike_share_a_scene(begun):
    assert set(tasks_in_scene(begun.memory, begun.task, 0.3)) == {"lift"}
    assert set(tasks_in_scene(begun.memory, begun.task, -2.0)) == {"lift", "pour", "fold"}
    # Of two tasks alone nothing says how much tasks differ: none is asked.
    assert not tasks_in_scene(memory_of("lift"), begun.task, 0.3)


def test_new_frames_are_asked_under_the_earlier_instruction_before_they_are_learnt(begun):
    assert frames_under_old_instructions(begun, same_scene=0.3, count=20) == {ASKED + "lift": 20}
    asked = begun.rows.samples([FrameRef(ASKED + "lift", 0, k) for k in range(20)])
    places = np.linspace(0, len(begun.frames) - 1, 20).round().astype(int)
    shown = begun.rows.samples([begun.frames[place] for place in places])
    lift = begun.rows.samples(begun.rows.tasks["lift"].refs("lift")[:1])
    assert np.array_equal(asked.states, shown.states)
    assert set(asked.instructions) == set(lift.instructions)
    assert not set(asked.instructions) & set(shown.instructions)
    assert asked.valid.all()
    assert np.allclose(answers(begun.policy, asked), asked.actions, atol=1e-6)


def test_a_short_task_is_asked_each_of_its_frames_once(begun):
    few = replace(begun, frames=begun.frames[:7])
    assert frames_under_old_instructions(few, same_scene=0.3, count=20) == {ASKED + "lift": 7}


class Same(Sampler):
    """Draws one stored frame over and over."""

    def __init__(self, ref):
        self.ref = ref

    def next(self, count, step):
        return [self.ref] * count

    def weights(self):
        return np.ones(1)


def test_a_share_of_the_rehearsed_frames_is_asked_where_a_scene_is_shared(begun):
    rule = Imagined(share=0.4, asked_share=0.2, copies=2, questions=20)
    done = finished(begun.policy, begun.rows, "lift")
    left, drawn = rule.after_task({}, done), Same(done.kept[0])
    refs = rule.for_task(drawn, left, begun).next(2000, 0)
    beside = 2 * len(done.kept)
    kinds = [ref.task if ref.task == "lift" else ref.frame >= beside for ref in refs]
    shares = [kinds.count(kind) / 2000 for kind in ("lift", False, True)]
    assert shares == pytest.approx([0.4, 0.4, 0.2], abs=0.04)
    assert len({ref.frame for ref in refs if ref.frame >= beside}) == rule.questions
    alone = replace(begun, memory=memory_of("pour", "fold"))
    without = set(rule.for_task(drawn, left, alone).next(2000, 0))
    assert {ref.frame for ref in without if ref.task == IMAGINED} == {0, 1}
