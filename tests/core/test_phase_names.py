"""Phases of one name are one phase, wherever and however often it comes."""

import numpy as np
import pytest
from synthetic import scripted_demo

from phaser.core.demonstration import Task
from phaser.core.memory import PreparedTask
from phaser.core.segmentation import Segmentation, phase_names
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.routing.prototypes import prototypes
from phaser.testing.keep import check_keep


def cut(labels, boundaries, num_frames=20):
    return Segmentation.from_boundaries(boundaries, num_frames=num_frames, labels=labels)


USUAL = cut(("reach", "grasp", "lift"), (8, 12))
TWICE = cut(("reach", "grasp", "reach", "grasp"), (4, 8, 12))
LACKS = cut(("lift", "wipe"), (10,))


def test_the_phases_of_a_task_come_once_each_as_in_the_fullest_demonstration():
    assert phase_names([USUAL, USUAL]) == ("reach", "grasp", "lift")
    assert phase_names([LACKS, TWICE, USUAL]) == ("reach", "grasp", "lift", "wipe")


def test_the_frames_of_a_phase_are_those_of_all_its_turns():
    assert TWICE.frames_of("grasp") == [4, 5, 6, 7, *range(12, 20)]
    assert TWICE.frames_of("grasp", stride=3) == [4, 7, 12, 15, 18]
    assert LACKS.frames_of("grasp") == []


@pytest.fixture
def task():
    demos = tuple(scripted_demo((8, 4, 8), index=at) for at in range(3))
    cuts = (USUAL, TWICE, LACKS)
    return PreparedTask(
        task=Task(name=demos[0].task, instruction="lift it"),
        demos=demos,
        segmentations=cuts,
        prototypes=prototypes(
            demos,
            cuts,
            instruction_embedding=np.ones(2),
            frame_features=lambda demo: np.arange(20.0)[:, None],
        ),
    )


def test_a_bucket_holds_the_frames_of_its_phase_from_every_demonstration_that_has_it(task):
    kept = PhaseBuckets(stride=1)
    assert kept.candidates(task) == [16, 16, 18, 10]
    check_keep(kept, lambda: task)


def test_a_prototype_is_the_mean_over_all_turns_of_its_phase(task):
    grasp = [*range(8, 12), *range(4, 8), *range(12, 20)]
    assert task.prototypes[1].vision.tolist() == [np.mean(grasp)]
