"""Samples of any shape: structure and leaves survive a round trip through the encoder alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from stored_memories import assert_same

from phaser.core.demonstration import FrameRef, Task
from phaser.core.errors import BadInput, BrokenFile, MissingDependency, UnknownName
from phaser.core.memory import Bucket, PhaseId, Prototype
from phaser.memory import codecs
from phaser.memory.codecs import MAX_PIXELS, ImageCodec
from phaser.memory.image_form import ImageForm, form_of
from phaser.memory.sample import NewTask, Sample, TensorArray
from phaser.memory.sample_tree import join, leaf_paths, split
from phaser.memory.store import Store

TYPES = ["bool", "uint8", "int16", "int64", "uint32", "float16", "float32", "float64"]
arrays = st.sampled_from(TYPES).flatmap(
    lambda name: hnp.arrays(name, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
)
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
leaves = (
    plain
    | arrays
    | st.binary(max_size=5)
    | st.lists(plain, max_size=3)
    | arrays.map(lambda values: TensorArray(values=values, dtype=values.dtype.name))
    | hnp.arrays("uint8", (3, 4, 3)).map(Image.fromarray)
    | st.sampled_from([np.float32(1.5), np.int64(-3), np.bool_(True)])
)
samples = st.recursive(
    leaves,
    lambda inner: (
        st.dictionaries(st.text(max_size=4), inner, max_size=3)
        | st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


def one_frame(sample: Sample) -> NewTask:
    prototype = Prototype(
        language=np.zeros(0), vision=np.zeros(0), action=np.zeros(2), motion=(0, 1)
    )
    bucket = Bucket(
        phase=PhaseId("lift", 0, "reach"), frames=(FrameRef("lift", 0, 0),), prototype=prototype
    )
    task = Task(name="lift", instruction="lift it")
    return NewTask(task=task, buckets=[bucket], sample_of=lambda ref: sample, source={})


@settings(max_examples=25)
@given(sample=samples, codec=st.sampled_from(["raw", "png"]))
def test_any_sample_comes_back_as_it_was(
    sample: Sample, codec: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = Store.create(tmp_path_factory.mktemp("store") / "memory", about={})
    new = one_frame(sample)
    (found,) = store.add(new, ImageCodec.parse(codec)).read([FrameRef("lift", 0, 0)])
    assert_same(sample, found)


@given(sample=samples)
def test_structure_and_leaves_make_the_sample_again(sample: Sample) -> None:
    node, found = split(sample)
    assert len(list(leaf_paths(node))) == len(found)
    assert split(join(node, [leaf.value for leaf in found]))[0].keys() == node.keys()


pixel_shapes = st.sampled_from([(16, 17, 3), (1, 18, 16), (3, 16, 16), (2, 3, 16, 20), (17, 16, 1)])


@settings(max_examples=40)
@given(
    levels=pixel_shapes.flatmap(lambda shape: hnp.arrays("uint8", shape)),
    scale=st.sampled_from(["bytes", "divided", "multiplied"]),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    codec=st.sampled_from(["png", "webp-lossless"]),
)
def test_images_of_every_form_are_coded_without_a_changed_bit(
    levels: Any, scale: str, dtype: str, codec: str
) -> None:
    one = np.dtype(dtype).type(255)
    scaled = {
        "bytes": lambda: levels,
        "divided": lambda: levels.astype(dtype) / one,
        "multiplied": lambda: levels.astype(dtype) * (np.dtype(dtype).type(1) / one),
    }[scale]()
    form = form_of(scaled, pil=False)
    assert form is not None
    pixels = form.pixels(scaled)
    assert pixels is not None
    coder = ImageCodec.parse(codec)
    decoded = coder.decode(coder.encode(pixels), form.pixel_shape(scaled.shape), "it")
    assert_same(scaled, form.array(decoded, scaled.shape, scaled.dtype))


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((15, 64, 3), np.uint8),
        np.zeros((64, 64), np.uint8),
        np.zeros((64, 64, 4), np.uint8),
        np.zeros((64, 64, 3), np.int16),
        np.full((64, 64, 3), 0.3, np.float32),
        np.full((64, 64, 3), np.nan, np.float32),
        np.full((64, 64, 3), -0.0, np.float32),
        np.broadcast_to(np.uint8(0), (MAX_PIXELS, 16, 3)),
    ],
    ids=["small", "flat", "alpha", "int16", "between", "nan", "minus zero", "huge"],
)
def test_what_is_no_image_is_left_as_it_is(array: np.ndarray) -> None:
    assert form_of(array, pil=False) is None


def test_a_frame_that_is_no_image_among_images_is_kept_as_it_is(tmp_path: Path) -> None:
    odd = np.full((16, 16, 3), 0.3, np.float32)
    frames = [FrameRef("lift", 0, frame) for frame in range(3)]
    values = {ref: np.zeros((16, 16, 3), np.float32) for ref in frames} | {frames[1]: odd}
    new = one_frame(None)
    bucket = Bucket(
        phase=new.buckets[0].phase, frames=tuple(frames), prototype=new.buckets[0].prototype
    )
    store = Store.create(tmp_path / "memory", about={}).add(
        NewTask(task=new.task, buckets=[bucket], sample_of=values.__getitem__, source={}),
        ImageCodec.parse("jpeg:50"),
    )
    (leaf,) = store.shard("lift").leaves
    assert leaf.form == ImageForm(layout="hwc", scale="divided")
    assert leaf.coded is not None
    assert leaf.coded.tolist() == [True, False, True]
    assert_same(odd, store.read([frames[1]])[0])


def test_codecs_are_named_in_one_way() -> None:
    assert ImageCodec.parse("jpeg:90") == ImageCodec(name="jpeg", quality=90)
    assert str(ImageCodec.parse("webp")) == "webp:95"
    assert str(ImageCodec()) == "webp-lossless"
    with pytest.raises(UnknownName, match="did you mean jpeg"):
        ImageCodec.parse("jpg")
    for text in ("jpeg:x", "jpeg:0", "jpeg:101", "jpeg:²"):
        with pytest.raises(BadInput, match="quality"):
            ImageCodec.parse(text)


def test_a_pillow_without_webp_is_told_apart_from_a_broken_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pixels = np.zeros((16, 16, 3), np.uint8)
    content = ImageCodec.parse("webp").encode(pixels)
    monkeypatch.setitem(codecs._BUILT, "webp", False)
    with pytest.raises(MissingDependency, match="without webp"):
        ImageCodec.parse("webp-lossless").encode(pixels)
    with pytest.raises(MissingDependency, match="without webp"):
        ImageCodec.parse("webp").decode(content, pixels.shape, "frame 3")
    assert ImageCodec.parse("png").encode(pixels)


@settings(max_examples=150)
@given(
    codec=st.sampled_from(["png", "jpeg:90", "webp:90", "webp-lossless"]),
    changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=6),
    cut=st.integers(0, 40),
)
def test_a_damaged_image_gives_pixels_of_its_shape_or_one_clear_error(
    codec: str, changes: list[tuple[int, int]], cut: int
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (16, 18, 3), dtype=np.uint8)
    coder = ImageCodec.parse(codec)
    content = bytearray(coder.encode(pixels))
    for place, value in changes:
        content[place % len(content)] = value
    try:
        found = coder.decode(bytes(content[: len(content) - cut]), pixels.shape, "frame 3")
    except BrokenFile:
        return
    assert found.shape == pixels.shape
