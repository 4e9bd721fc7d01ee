"""Frames from the memory's store: the same samples as from the recording that they came from."""

import numpy as np
import pytest
from made_up_suite import CAMERAS, MadeUpSuite

from phaser.core.errors import BadInput
from phaser.core.memory import Memory, PreparedTask, Prototype
from phaser.core.segmentation import Segmentation
from phaser.core.streams import Streams
from phaser.encoders.maps import PlainPixels
from phaser.memory.codecs import ImageCodec
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.sample import NewTask
from phaser.memory.store import Store
from phaser.training.frames import FrameTable, TaskFrames
from phaser.training.pixel_rows import PixelRows
from phaser.training.stored_frames import frames_in_store, stored_samples

SUITE = MadeUpSuite(task_list=("reach",))
[TASK] = SUITE.tasks()
DEMOS = SUITE.demos(TASK, "train")
CONTRACT = SUITE.contract
PIXELS = {
    camera: PixelRows(demos=DEMOS, camera=camera, image_size=CONTRACT.image_size)
    for camera in CAMERAS
}
RECORDED = TaskFrames.of(DEMOS, PIXELS, instruction=TASK.instruction, chunk_length=4)


def prepared():
    cut = Segmentation.from_boundaries(
        [12, 17], num_frames=DEMOS[0].num_frames, labels=["approach", "grasp", "lift"]
    )
    seen = Prototype(language=np.zeros(2), vision=np.zeros(2), action=np.zeros(4), motion=(0, 1, 2))
    return PreparedTask(
        task=TASK, demos=DEMOS, segmentations=(cut,) * len(DEMOS), prototypes=(seen,) * 3
    )


BUCKETS = PhaseBuckets().select(prepared(), 9, Streams(0).named("keep"))
KEPT = [ref for bucket in BUCKETS for ref in bucket.frames]


def store_in(folder, codec="webp-lossless"):
    samples = stored_samples(DEMOS, RECORDED, KEPT)
    new = NewTask(task=TASK, buckets=BUCKETS, sample_of=samples.__getitem__, source={})
    return Store.create(folder, about={}).add(new, ImageCodec.parse(codec))


def gathered(frames, refs):
    return FrameTable({TASK.name: frames}).samples(refs)


def require_same(found, expected):
    assert found.instructions == expected.instructions
    for part in ("states", "actions", "valid"):
        one, other = getattr(found, part), getattr(expected, part)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    for name, images in expected.images.items():
        assert np.array_equal(found.images[name], images)


@pytest.mark.parametrize("front_end", [None, PlainPixels(cameras=CAMERAS)], ids=str)
def test_stored_frames_give_the_samples_of_the_recording_to_the_bit(tmp_path, front_end):
    stored = frames_in_store(store_in(tmp_path), TASK.name, contract=CONTRACT, front_end=front_end)
    assert stored.refs(TASK.name) == KEPT
    asked = [KEPT[5], KEPT[0], KEPT[5], KEPT[8]]
    require_same(gathered(stored, asked), gathered(RECORDED, asked))
    require_same(gathered(RECORDED.only(KEPT), asked), gathered(RECORDED, asked))


def test_of_a_lossy_store_the_images_alone_differ(tmp_path):
    stored = frames_in_store(
        store_in(tmp_path, "jpeg:50"), TASK.name, contract=CONTRACT, front_end=None
    )
    found, expected = gathered(stored, KEPT), gathered(RECORDED, KEPT)
    assert all(not np.array_equal(found.images[name], expected.images[name]) for name in CAMERAS)
    assert np.array_equal(found.actions, expected.actions)
    assert np.array_equal(found.states, expected.states)


def test_a_frame_that_was_not_kept_is_refused(tmp_path):
    stored = frames_in_store(store_in(tmp_path), TASK.name, contract=CONTRACT, front_end=None)
    other = next(ref for ref in RECORDED.refs(TASK.name) if ref not in KEPT)
    for frames in (stored, RECORDED.only(KEPT)):
        with pytest.raises(BadInput, match="not among the kept frames"):
            gathered(frames, [other])


def test_pixels_are_read_when_they_are_asked_for_in_the_order_asked_for():
    rows = PIXELS["corner"]
    first, second = (demo.cameras["corner"] for demo in DEMOS)
    assert rows.shape == (56, *CONTRACT.image_size, 3)
    found = rows[[40, 3, 27, 28, 3]]
    expected = [second.read([12]), first.read([3, 27]), second.read([0]), first.read([3])]
    assert np.array_equal(found, np.concatenate(expected)[[0, 1, 2, 3, 4]])
    assert found.dtype == rows.dtype


def test_the_memory_of_a_store_is_the_one_that_was_kept(tmp_path):
    found = store_in(tmp_path).memory
    assert Memory(tuple(BUCKETS)).frames_per_task() == found.frames_per_task()
    assert [list(one.frames) for one in found.buckets] == [list(one.frames) for one in BUCKETS]
