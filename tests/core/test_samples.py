"""Rows of frames: parts of them are views that keep their places."""

import numpy as np

from phaser.core.samples import Samples


def samples(count=5):
    rows = np.arange(count, dtype=np.float32)
    return Samples(
        images={"top": np.zeros((count, 4, 4, 3), np.uint8)},
        states=rows[:, None],
        instructions=tuple(f"do {row}" for row in range(count)),
        actions=rows[:, None, None].repeat(2, axis=1),
        valid=np.ones((count, 2), bool),
        places=np.arange(count) * 2,
        num_places=2 * count,
    )


def test_a_span_of_rows_is_a_view_of_all_columns():
    whole = samples()
    part = whole.rows(slice(1, 3))
    assert len(part) == 2
    assert part.states[:, 0].tolist() == part.actions[:, 0, 0].tolist() == [1, 2]
    assert part.instructions == ("do 1", "do 2")
    assert (part.places.tolist(), part.num_places) == ([2, 4], 10)
    assert len(part.images["top"]) == len(part.valid) == 2
    assert np.shares_memory(part.states, whole.states)
    assert whole.first(2).instructions == ("do 0", "do 1")


def test_what_a_policy_sees_when_it_acts_has_no_actions():
    seen = Samples.without_actions(
        {"top": np.zeros((2, 4, 4, 3), np.uint8)},
        states=np.zeros((2, 3), np.float32),
        instructions=["go", "stop"],
    )
    assert len(seen) == 2
    assert seen.instructions == ("go", "stop")
    assert seen.actions.size == seen.valid.size == 0
    assert seen.rows(slice(0, 1)).places is None
