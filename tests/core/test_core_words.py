"""Types that refuse to exist when they do not make sense, and files that are never half-written."""

import errno

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import LAYOUT, prepared_task

from phaser.core.demonstration import ActionLayout, Demo, FrameRef
from phaser.core.errors import BadInput, BrokenFile, BrokenSegmentation, CannotWrite, UnknownName
from phaser.core.files import read_json, write_atomically, write_json
from phaser.core.memory import Bucket, Memory, PreparedTask
from phaser.core.segmentation import Phase, Segmentation


@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_phases_tile_the_demonstration(lengths):
    labels = [f"p{at}" for at in range(len(lengths))]
    found = Segmentation.from_boundaries(
        np.cumsum(lengths)[:-1].tolist(), num_frames=sum(lengths), labels=labels
    )
    assert [len(phase) for phase in found.phases] == lengths
    held = [found.phase_at(frame) for frame in range(sum(lengths))]
    assert held == np.repeat(np.arange(len(lengths)), lengths).tolist()


@pytest.mark.parametrize(
    "spans", [[(0, 4), (5, 9)], [(0, 5), (4, 9)], [(0, 0), (0, 9)], [(1, 9)], [(0, 8)], []]
)
def test_broken_phases_are_refused(spans):
    phases = tuple(Phase(label=f"p{a}", start=a, stop=b) for a, b in spans)
    with pytest.raises(BrokenSegmentation):
        Segmentation(num_frames=9, phases=phases)


@pytest.mark.parametrize("frame", [-1, 9])
def test_a_frame_outside_has_no_phase(frame):
    whole = Segmentation.from_boundaries([4], num_frames=9, labels="ab")
    with pytest.raises(BrokenSegmentation, match="outside"):
        whole.phase_at(frame)


def test_a_demonstration_with_nan_is_refused():
    actions = np.zeros((3, 4))
    with pytest.raises(BadInput, match="NaN"):
        Demo(task="t", index=0, actions=actions * np.nan, states=np.zeros((3, 1)), layout=LAYOUT)


def test_the_way_up_is_three_of_the_motion_dimensions():
    with pytest.raises(BadInput, match="translation"):
        ActionLayout(motion=(0, 1, 2), gripper=(3,), translation=(0, 1, 3))
    told = ActionLayout(motion=(0, 1, 2), gripper=(3,), translation=(0, 1, 2))
    assert told == ActionLayout(motion=(0, 1, 2), gripper=(3,))


def test_overlapping_action_dimensions_are_refused():
    with pytest.raises(BadInput, match="overlap"):
        ActionLayout(motion=(0, 1), gripper=(1,))


def test_buckets_hold_distinct_frames_and_memory_counts_them():
    task = prepared_task()
    frames = (FrameRef("lift", 0, 1), FrameRef("lift", 0, 2))
    phase, prototype = task.phase_ids()[0], task.prototypes[0]
    for wrong in ((), frames + frames[:1]):
        with pytest.raises(BadInput, match="distinct"):
            Bucket(phase=phase, frames=wrong, prototype=prototype)
    memory = Memory().with_buckets([Bucket(phase=phase, frames=frames, prototype=prototype)])
    assert (memory.num_frames, memory.frames_per_task()) == (2, {"lift": 2})


def test_a_prepared_task_needs_a_prototype_per_phase():
    task = prepared_task()
    with pytest.raises(BadInput, match="3 phases but 2 prototypes"):
        PreparedTask(
            task=task.task,
            demos=task.demos,
            segmentations=task.segmentations,
            prototypes=task.prototypes[:2],
        )


def test_unknown_names_are_answered_with_near_or_all_known_ones():
    assert "did you mean phaser?" in str(UnknownName("method", "phasr", ["er", "phaser"]))
    assert "known: er, phaser" in str(UnknownName("method", "zzz", ["phaser", "er"]))


def test_json_comes_back_and_damage_is_named(tmp_path):
    path = tmp_path / "deep" / "run.json"
    write_json(path, {"b": 1, "a": [1.5]})
    assert read_json(path) == {"a": [1.5], "b": 1}
    path.write_text("{")
    with pytest.raises(BrokenFile, match=r"run\.json is not valid JSON"):
        read_json(path)
    with pytest.raises(BrokenFile, match="does not exist"):
        read_json(tmp_path / "none.json")


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path):
    path = tmp_path / "run.json"
    write_json(path, 1)

    def full_disk(temporary):
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(CannotWrite, match="No space left"):
        write_atomically(path, full_disk)
    assert read_json(path) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["run.json"]
