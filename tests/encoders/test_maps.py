"""Maps of all cameras as a front end, and one vector per frame made of them."""

import numpy as np
import pytest

from phaser.core.encoders import VisionEncoder
from phaser.core.errors import UnknownName
from phaser.core.policy import FrontEnd
from phaser.encoders.maps import EfficientNetMaps, PlainPixels
from phaser.encoders.table import VISION, Encoders

CAMERAS = ("corner", "gripper")


def images(count: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.integers(0, 256, (count, 48, 48, 3), dtype=np.uint8) for name in CAMERAS}


@pytest.mark.parametrize("name", VISION)
def test_every_frame_has_one_visual_vector_from_frozen_maps(name: str) -> None:
    encoder = Encoders(vision=name).build_vision(CAMERAS)
    assert isinstance(encoder, VisionEncoder)
    vectors = encoder.describe(encoder(images()))
    assert vectors.shape[0] == 3
    assert np.isfinite(vectors).all()
    assert not np.allclose(vectors[0], vectors[1])


def test_the_maps_have_the_channels_that_are_promised_and_are_cached_under_their_cameras() -> None:
    both = EfficientNetMaps(cameras=CAMERAS, fine_cameras=CAMERAS)
    one = EfficientNetMaps(cameras=CAMERAS, fine_cameras=("gripper",))
    for maps in (both, one):
        assert {name: rows.shape[1] for name, rows in maps(images()).items()} == maps.depths
    assert set(both.depths) - set(one.depths) == {"corner_fine"}
    assert both.identity != one.identity


def test_plain_pixels_are_the_images_of_the_cameras_asked_for() -> None:
    seen, pixels = images(), PlainPixels(cameras=("gripper",))
    assert isinstance(pixels, FrontEnd)
    found = pixels(seen)
    assert list(found) == ["gripper"]
    assert np.array_equal(found["gripper"], seen["gripper"])


def test_where_the_policy_describes_phases_frames_are_still_compared_by_a_frozen_encoder() -> None:
    assert Encoders(vision="policy").is_policy
    assert Encoders(vision="policy").build_vision(CAMERAS) == Encoders().build_vision(CAMERAS)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"language": "minilmm"}, "did you mean minilm"),
        ({"vision": "polcy"}, "did you mean policy"),
    ],
)
def test_an_unknown_encoder_answers_with_the_nearest(wrong: dict[str, str], message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        Encoders(**wrong)
