"""Budgets in bytes: as many frames as fit, each encoded at most once."""

from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import prepared_task

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.memory.byte_budget import within_bytes
from phaser.memory.even import Even
from phaser.memory.herding import Herding
from phaser.memory.phase_buckets import PhaseBuckets, Within
from phaser.memory.reservoir import Reservoir
from phaser.memory.sizes import PieceSizes

TASK = prepared_task(lengths=(20, 9, 30))
MOST = {"PhaseBuckets": 4 * (7 + 3 + 10), "Reservoir": 4 * 59, "Even": 4 * 59, "Herding": 4 * 59}
RULES = [*(PhaseBuckets(within=one) for one in get_args(Within)), Reservoir(), Herding()]


def selecting(rule):
    return lambda count: rule.select(TASK, count, Streams(2).named("keep"))


def within(budget, select, size_of, most, **least):
    sizes = PieceSizes(size_of=lambda piece: size_of(*piece))
    return within_bytes(budget, select, sizes, most, **least)


def kept(buckets):
    return [frame for bucket in buckets for frame in bucket.frames]


def sizes_of(seed, *, spread):
    rng = np.random.default_rng(seed)
    table = rng.integers(1000 - spread, 1000 + spread + 1, size=(4, 59))
    return lambda frame: int(table[frame.demo, frame.frame])


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=20, deadline=None)
@given(budget=st.integers(4_000, 120_000), seed=st.integers(0, 99), spread=st.integers(0, 900))
def test_what_is_kept_fits_and_one_frame_more_would_not(rule, budget, seed, spread):
    size_of, encoded = sizes_of(seed, spread=spread), Counter()

    def counted(frame):
        encoded[frame] += 1
        return size_of(frame)

    most = MOST[type(rule).__name__]
    try:
        frames = kept(within(budget, selecting(rule), counted, most, least=3))
    except BadInput:
        assert sum(map(size_of, kept(selecting(rule)(3)))) > budget
        return
    assert sum(map(size_of, frames)) <= budget
    assert frames == kept(selecting(rule)(len(frames)))
    if len(frames) < most:
        assert sum(map(size_of, kept(selecting(rule)(len(frames) + 1)))) > budget
    assert set(encoded.values()) == {1}


@pytest.mark.parametrize(("budget", "expected"), [(3_000, 3), (20_999, 20), (10**9, 80)])
def test_frames_of_one_size_give_the_count_by_division(budget, expected):
    buckets = within(budget, selecting(PhaseBuckets()), lambda _: 1000, 80, least=3)
    assert len(kept(buckets)) == expected


def test_the_same_bytes_keep_the_same_frames():
    once, again = (
        kept(within(25_000, selecting(Even()), sizes_of(1, spread=500), MOST["Even"]))
        for _ in range(2)
    )
    assert once == again


def test_far_fewer_frames_are_encoded_than_offered():
    task = prepared_task(num_demos=40, lengths=(100, 100, 100))
    encoded = []

    def size_of(frame):
        encoded.append(frame)
        return 900 + frame.frame

    def select(count):
        return Reservoir().select(task, count, Streams(2).named("keep"))

    frames = kept(within(60_000, select, size_of, 12_000))
    assert 50 < len(frames) < 65
    assert len(encoded) < 10 * len(frames)


def test_frames_that_shrink_after_the_first_do_not_make_the_search_creep():
    tries = []

    def select(count):
        tries.append(count)
        return selecting(Reservoir())(count)

    first = kept(selecting(Reservoir())(1))[0]
    buckets = within(10_000, select, lambda frame: 9_000 if frame == first else 5, 236)
    assert len(kept(buckets)) == 200 + 1 if first in kept(buckets) else 236
    assert len(tries) <= 20


def test_too_few_bytes_for_one_frame_per_phase_are_refused_with_the_number_needed():
    with pytest.raises(BadInput, match=r"a budget of 2999 bytes.* 3 frames, takes 3000; give at"):
        within(2_999, selecting(PhaseBuckets()), lambda _: 1000, 80, least=3)


def test_a_task_with_fewer_frames_than_phases_is_refused():
    with pytest.raises(BadInput, match="expected 1 <= least <= most"):
        within(10_000, selecting(PhaseBuckets()), lambda _: 1000, 2, least=3)
