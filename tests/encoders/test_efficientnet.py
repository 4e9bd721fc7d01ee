"""EfficientNet-lite0 agrees with the model class its weights were published for."""

from pathlib import Path

import numpy as np
import pytest
import torch

from phaser.core.errors import BadInput
from phaser.encoders.efficientnet import FOLDED_NAME, EfficientNetLite0


@pytest.fixture(scope="module")
def encoder() -> EfficientNetLite0:
    return EfficientNetLite0()


def ramp() -> np.ndarray:
    return (np.arange(96 * 96 * 3).reshape(1, 96, 96, 3) % 251).astype(np.uint8)


def noise(count: int, height: int = 96, width: int = 96) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, height, width, 3), np.uint8)


def test_maps_agree_with_the_published_model_class(encoder: EfficientNetLite0) -> None:
    fine, coarse = encoder.maps(ramp())
    np.testing.assert_allclose(
        fine[0, :4, 1, 2], (7.69117, -9.46922, 0.471279, -15.89195), atol=2e-4
    )
    np.testing.assert_allclose(
        coarse[0, :4, 1, 2], (9.376374, 7.160193, 7.202020, 3.117710), atol=2e-4
    )


def test_maps_have_stride_8_and_16_for_any_multiple_of_16(encoder: EfficientNetLite0) -> None:
    fine, coarse = encoder.maps(noise(2, 64, 112))
    assert fine.shape == (2, 40, 8, 14)
    assert coarse.shape == (2, 112, 4, 7)
    assert fine.dtype == coarse.dtype == torch.float32


def test_an_image_is_encoded_alike_alone_and_among_many(encoder: EfficientNetLite0) -> None:
    images = noise(19)
    _, together = encoder.maps(images)
    _, alone = encoder.maps(images[17:18])
    torch.testing.assert_close(together[17:18], alone, atol=2e-4, rtol=1e-4)


def test_arrays_and_tensors_are_read_alike(encoder: EfficientNetLite0) -> None:
    images = noise(2)
    torch.testing.assert_close(
        encoder.maps(images)[1], encoder.maps(torch.from_numpy(images))[1], atol=0, rtol=0
    )


def test_the_image_given_is_left_as_it_was(encoder: EfficientNetLite0) -> None:
    images = noise(1)
    before = images.copy()
    encoder.maps(images)
    assert (images == before).all()


def test_pooled_is_the_mean_over_space_of_both_maps(encoder: EfficientNetLite0) -> None:
    fine, coarse = encoder.maps(ramp())
    pooled = encoder.pooled(ramp())
    assert pooled.shape == (1, 152)
    assert pooled.dtype == np.float32
    np.testing.assert_allclose(pooled[0, :40], fine[0].flatten(1).mean(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(pooled[0, 40:], coarse[0].flatten(1).mean(1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((96, 96, 3), np.uint8),
        np.zeros((1, 3, 96, 96), np.uint8),
        np.zeros((1, 96, 96, 3), np.float32),
        np.zeros((0, 96, 96, 3), np.uint8),
        np.zeros((1, 90, 96, 3), np.uint8),
    ],
    ids=["no batch", "channels first", "float", "empty", "not a multiple of 16"],
)
def test_images_of_another_kind_are_refused(encoder: EfficientNetLite0, images: np.ndarray) -> None:
    with pytest.raises(BadInput, match="expected"):
        encoder.maps(images)


def test_a_damaged_converted_file_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoder: EfficientNetLite0
) -> None:
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path))
    EfficientNetLite0()
    converted = tmp_path / "weights" / FOLDED_NAME
    whole = converted.read_bytes()
    converted.write_bytes(whole[:-4] + b"\0\0\x80\x7f")
    torch.testing.assert_close(
        EfficientNetLite0().maps(ramp())[1], encoder.maps(ramp())[1], atol=0, rtol=0
    )
    assert converted.read_bytes() == whole
