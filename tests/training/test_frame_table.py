"""Frames by reference: chunks stop at the end of a demonstration, rows come in the asked order."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phaser.core.demonstration import ActionLayout, Demo, FrameRef
from phaser.core.errors import BadInput
from phaser.training.frames import FrameTable, TaskFrames

LAYOUT = ActionLayout(motion=(0,), gripper=())


def numbered(task, lengths, *, chunk_length=4, first=0):
    """Demonstrations whose actions, states and inputs are the number of their frame."""
    starts = np.cumsum([first, *lengths])
    values = [np.arange(a, b, dtype=np.float64)[:, None] for a, b in pairwise(starts)]
    demos = [
        Demo(task=task, index=10 + k, actions=rows, states=rows, layout=LAYOUT)
        for k, rows in enumerate(values)
    ]
    images = {"camera": np.concatenate(values).astype(np.float16)}
    return TaskFrames.of(demos, images, instruction=f"from {first}", chunk_length=chunk_length)


@settings(deadline=None, max_examples=40)
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4), chunk_length=st.integers(1, 12))
def test_a_chunk_never_crosses_the_end_of_its_demonstration(lengths, chunk_length):
    frames = numbered("t", lengths, chunk_length=chunk_length)
    ends = np.repeat(np.cumsum(lengths), lengths)
    for row in range(frames.num_frames):
        ahead = np.arange(row, row + chunk_length)
        assert frames.valid[row].tolist() == (ahead < ends[row]).tolist()
        assert frames.actions[row, :, 0].tolist() == np.minimum(ahead, ends[row] - 1).tolist()
        assert frames.valid[row, 0]


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_a_batch_has_its_rows_in_the_order_asked_for_across_tasks(data):
    table = FrameTable({"a": numbered("a", [5, 3]), "b": numbered("b", [4, 6, 2], first=100)})
    everything = [ref for name in "ab" for ref in table.tasks[name].refs(name)]
    refs = data.draw(st.lists(st.sampled_from(everything), min_size=1, max_size=30))
    starts = {("a", 10): 0, ("a", 11): 5, ("b", 10): 100, ("b", 11): 104, ("b", 12): 110}
    expected = [starts[ref.task, ref.demo] + ref.frame for ref in refs]
    samples = table.samples(refs)
    assert len(samples) == len(refs)
    assert samples.states[:, 0].tolist() == expected
    assert samples.images["camera"][:, 0].tolist() == expected
    assert samples.actions[:, 0, 0].tolist() == expected
    told = {"a": "from 0", "b": "from 100"}
    assert list(samples.instructions) == [told[ref.task] for ref in refs]
    assert samples.valid[:, 0].all()


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        (FrameRef("a", 10, 5), "not among the recorded frames"),
        (FrameRef("a", 10, -1), "not among the recorded frames"),
        (FrameRef("a", 99, 0), "not among the recorded frames"),
        (FrameRef("z", 10, 0), "no frames of task 'z'"),
    ],
)
def test_a_frame_that_does_not_exist_is_refused(ref, message):
    with pytest.raises(BadInput, match=message):
        FrameTable({"a": numbered("a", [5, 3])}).samples([ref])


def test_inputs_that_miss_frames_are_refused():
    demo = Demo(task="t", index=0, actions=np.zeros((4, 1)), states=np.zeros((4, 1)), layout=LAYOUT)
    with pytest.raises(BadInput, match="3 rows for 4 frames"):
        TaskFrames.of([demo], {"camera": np.zeros((3, 1))}, instruction="go", chunk_length=2)
