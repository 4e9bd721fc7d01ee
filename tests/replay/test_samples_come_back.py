"""A rehearsed sample is what the dataset gave when it was kept: types, shapes and bits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made_samples import ListDataset, numpy_dataset, replay_in
from PIL import Image

from phaser.core.errors import BadInput
from phaser.replay.tensors import to_stored

LEAVES: list[Any] = [
    torch.arange(6, dtype=torch.float32).reshape(2, 3),
    torch.randn(3, 5, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16),
    torch.tensor(7),
    torch.tensor([True, False]),
    torch.rand(8, 7, generator=torch.Generator().manual_seed(0)).to(torch.float16),
    torch.rand(3, 24, 32, generator=torch.Generator().manual_seed(0)).mul(255).byte(),
    torch.rand(3, 24, 32, generator=torch.Generator().manual_seed(0)).mul(255).byte().float() / 255,
    torch.rand(3, 24, 32, generator=torch.Generator().manual_seed(0)),
    torch.arange(12).reshape(3, 4).T,
    np.arange(5, dtype=np.int16),
    np.float32(0.5),
    np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8),
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (20, 30, 3), dtype=np.uint8)),
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (20, 30), dtype=np.uint8)),
    "pick up the Tässchen",
    b"\x00\xff",
    3,
    0.1,
    True,
    None,
    [torch.zeros(2), "two"],
    (1, {"deep": torch.ones(1, dtype=torch.int64)}),
]


def assert_same(found: Any, given: Any) -> None:
    assert type(found) is type(given)
    if isinstance(given, torch.Tensor):
        assert found.dtype == given.dtype
        assert torch.equal(found, given)
    elif isinstance(given, np.ndarray):
        assert found.dtype == given.dtype
        np.testing.assert_array_equal(found, given)
    elif isinstance(given, Image.Image):
        assert (found.mode, found.size) == (given.mode, given.size)
        assert found.tobytes() == given.tobytes()
    elif isinstance(given, dict):
        assert list(found) == list(given)
        for key in given:
            assert_same(found[key], given[key])
    elif isinstance(given, list | tuple):
        assert len(found) == len(given)
        for one, other in zip(found, given, strict=True):
            assert_same(one, other)
    else:
        assert found == given


def rehearsed(folder: Path, dataset: Any, **settings: Any) -> list[Any]:
    replay = replay_in(folder, method="er", **settings)
    with replay.task(dataset, instruction="first"):
        pass
    return replay.task(dataset, instruction="second").sample(12)


@pytest.mark.parametrize("codec", ["png", "raw", "webp-lossless"])
def test_every_kind_of_value_comes_back_as_it_was(tmp_path: Path, codec: str) -> None:
    dataset = ListDataset(
        {**sample, "leaves": {f"leaf {at}": leaf for at, leaf in enumerate(LEAVES)}}
        for sample in numpy_dataset()
    )
    originals = {(one["episode_index"], one["frame_index"]): one for one in dataset}
    for sample in rehearsed(tmp_path, dataset, codec=codec):
        assert_same(sample, originals[sample["episode_index"], sample["frame_index"]])


def test_a_lossy_codec_changes_pixels_alone(tmp_path: Path) -> None:
    dataset = numpy_dataset()
    originals = {(one["episode_index"], one["frame_index"]): one for one in dataset}
    for sample in rehearsed(tmp_path, dataset, codec="jpeg:90"):
        original = originals[sample["episode_index"], sample["frame_index"]]
        image, before = (one.pop("observation.images.top") for one in (sample, dict(original)))
        assert_same(sample, {k: v for k, v in original.items() if not k.startswith("obs")})
        assert (type(image), image.size) == (type(before), before.size)


def test_a_rehearsed_sample_may_be_changed_in_place(tmp_path: Path) -> None:
    dataset = ListDataset({**one, "x": torch.zeros(3)} for one in numpy_dataset())
    first, *rest = rehearsed(tmp_path, dataset)
    first["x"] += 1
    first["action"] += 1
    assert all(one["x"].sum() == 0 for one in rest)


def test_a_tensor_of_an_unknown_type_is_refused(tmp_path: Path) -> None:
    strange = torch.zeros(2).to(torch.float8_e4m3fn)
    dataset = ListDataset({**one, "x": strange} for one in numpy_dataset())
    with pytest.raises(BadInput, match="a tensor of type float8_e4m3fn"):
        rehearsed(tmp_path, dataset)


def test_a_sparse_tensor_is_refused_with_what_to_do():
    with pytest.raises(BadInput, match=r"sparse or quantised.*to_dense"):
        to_stored(torch.eye(3).to_sparse())
