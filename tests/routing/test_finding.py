"""Phases that find the object are rehearsed most; names decide which these are."""

from dataclasses import replace

import numpy as np
import pytest

from phaser.core.errors import BadInput
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.methods.table import METHODS
from phaser.routing.finding import Finding
from phaser.testing.draw import MadeUpProbe
from phaser.testing.made_up import made_up_task

STREAM = Streams(0).named("draw")


def memory_named(*labels):
    """A task whose three phases have these names."""
    keep = METHODS["phase-even"].keep
    buckets = keep.select(made_up_task("lift"), 20, Streams(0).named("keep"))
    return Memory(
        tuple(
            replace(bucket, phase=replace(bucket.phase, label=label))
            for bucket, label in zip(buckets, labels, strict=True)
        )
    )


def weights(memory, share=0.3):
    rule = Finding(share=share)
    return rule.for_task(memory, made_up_task("pour"), STREAM, MadeUpProbe()).weights()


def test_a_share_of_the_draws_goes_to_approach_and_align():
    memory = memory_named("approach", "grasp", "align_2")
    sizes = np.array([len(bucket.frames) for bucket in memory.buckets])
    alike = sizes / sizes.sum()
    finding = sizes * [1, 0, 1] / (sizes[0] + sizes[2])
    assert np.allclose(weights(memory), 0.7 * alike + 0.3 * finding)
    assert np.allclose(weights(memory, share=0.0), alike)


def test_where_no_name_says_so_all_frames_are_alike_and_an_empty_memory_is_none():
    memory = memory_named("one", "two", "three")
    sizes = np.array([len(bucket.frames) for bucket in memory.buckets])
    assert np.allclose(weights(memory), sizes / sizes.sum())
    assert weights(Memory()).tolist() == []


def test_a_share_above_one_is_refused():
    with pytest.raises(BadInput, match=r"share 1\.5"):
        Finding(share=1.5)
