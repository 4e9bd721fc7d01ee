"""Images of any type are seen alike; a phase is described by frames of its own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made_samples import language, learn, numpy_dataset, pixels_of, replay_in
from PIL import Image

from phaser import Columns
from phaser.core.errors import BadInput
from phaser.encoders.table import Encoders
from phaser.memory.store import Store
from phaser.phases.autopc import AutoPC
from phaser.replay.encoding import FRAMES_PER_PHASE, named_vision
from phaser.replay.images import image_names, images_of, pixels
from phaser.testing.toy import ToyDemos

PIXELS = pixels_of(3, 4)
FIRST = np.moveaxis(PIXELS, 2, 0)


@pytest.mark.parametrize(
    "value",
    [
        Image.fromarray(PIXELS),
        PIXELS,
        FIRST,
        torch.from_numpy(FIRST.copy()),
        torch.from_numpy(FIRST.copy()).float() / 255,
        (FIRST / 255.0).astype(np.float64),
        np.stack([np.zeros_like(FIRST), FIRST]),
    ],
)
def test_one_picture_in_any_form_has_the_same_pixels(value: Any) -> None:
    np.testing.assert_array_equal(pixels(value, name="camera"), PIXELS)


def test_a_grey_picture_has_three_equal_channels() -> None:
    found = pixels(PIXELS[..., :1], name="camera")
    np.testing.assert_array_equal(found, np.repeat(PIXELS[..., :1], 3, axis=2))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((4, 5)), r"image 'camera' has shape \(4, 5\)"),
        (np.zeros((16, 16, 4), np.uint8), r"shape \(16, 16, 4\)"),
        (FIRST / 255.0 - 0.5, "before they are normalised"),
        (np.full((16, 16, 3), np.nan), "before they are normalised"),
        (FIRST.astype(np.int64), "is int64 from"),
    ],
)
def test_what_is_no_picture_is_refused(value: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        pixels(value, name="camera")


def test_cameras_are_found_by_lerobots_names_or_by_the_users() -> None:
    sample = {
        "observation.images.top": PIXELS,
        "observation.images.top_is_pad": torch.zeros(1),
        "observation.image": PIXELS,
        "image": [PIXELS, PIXELS],
    }
    assert image_names(sample, Columns()) == ("observation.images.top", "observation.image")
    own = image_names(sample, Columns(images=("image",)))
    assert len(images_of(sample, own, row=0)) == 2
    with pytest.raises(BadInput, match="sample 5 has no 'wrist' but"):
        images_of(sample, ("wrist",), row=5)


def test_a_phase_is_described_by_its_own_frames(tmp_path: Path) -> None:
    seen: list[int] = []

    def brightness(images: np.ndarray) -> np.ndarray:
        seen.append(len(images))
        return images.reshape(len(images), -1).mean(axis=1, keepdims=True)

    dataset = numpy_dataset()
    for sample in dataset:
        grey = 200 if sample["action"][3] > 0 else 50
        sample["observation.images.top"] = Image.new("RGB", (16, 16), (grey,) * 3)
    learn(replay_in(tmp_path, vision=brightness), "lift the cup", dataset=dataset)
    first, *_, last = Store.open(tmp_path / "memory").memory.buckets
    assert first.prototype.vision.tolist() == [50]
    assert last.prototype.vision.tolist() == [200]
    np.testing.assert_array_equal(first.prototype.language, language("lift the cup"))
    assert max(seen) <= FRAMES_PER_PHASE


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vision": lambda images: np.zeros(3)}, "expected one vector per image"),
        ({"language": lambda text: np.zeros((1, 3))}, "expected one vector"),
    ],
)
def test_an_encoder_that_answers_in_another_form_is_refused(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        learn(replay_in(tmp_path, **settings), "lift the cup")


def test_the_default_encoder_sees_pictures_of_any_size() -> None:
    found = named_vision(Encoders().vision)(np.stack([np.tile(PIXELS, (5, 7, 1))[:75, :101]] * 2))
    assert found.shape == (2, 152)
    assert np.isfinite(found).all()


def test_of_a_long_phase_only_some_frames_are_read(tmp_path: Path) -> None:
    class Counting(ToyDemos):
        reads = 0

        def __getitem__(self, row: int) -> dict[str, Any]:
            self.reads += 1
            return super().__getitem__(row)

    demos = Counting("left", num_demos=20)
    replay_in(tmp_path).task(demos, instruction="go left")
    assert demos.reads <= FRAMES_PER_PHASE * AutoPC().max_phases + 2 < len(demos)
