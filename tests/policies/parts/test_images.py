"""Images as backbones read them: resize, crop, JPEG, colour, patches."""

import numpy as np
import pytest
import torch
from PIL import Image

from phaser.policies.parts.colour import ColourChanges
from phaser.policies.parts.image_form import ImageForm
from phaser.policies.parts.patches import MEAN, STD, num_merged_tokens, patches_of


def gradient_image(size=64):
    across, down = np.meshgrid(np.linspace(0, 255, size), np.linspace(0, 255, size))
    return np.stack([across, down, np.full_like(across, 90)], axis=2).astype(np.uint8)


def noise(size=64):
    return np.random.default_rng(0).integers(0, 256, (size, size, 3), dtype=np.uint8)


def test_an_image_of_the_right_size_is_left_alone():
    image = noise(56)
    np.testing.assert_array_equal(ImageForm()(image, size=56), image)


def test_resizing_is_pillows():
    expected = np.asarray(Image.fromarray(noise()).resize((28, 28), Image.Resampling.LANCZOS))
    np.testing.assert_array_equal(ImageForm(resize="lanczos")(noise(), size=28), expected)


def test_a_crop_of_nine_tenths_shows_the_middle_and_a_random_one_shows_where_it_is():
    form = ImageForm(crop_area=0.81)
    image = gradient_image(100)
    middle = form(image, size=100)
    # A side of 90 of 100 pixels: the edges lie 5 pixels further in.
    assert abs(int(middle[0, 0, 0]) - int(image[5, 5, 0])) <= 3
    assert abs(int(middle[-1, -1, 0]) - int(image[-6, -6, 0])) <= 3
    corner = form(image, size=100, crop=(0.0, 1.0))
    assert abs(int(corner[0, 0, 0]) - int(image[0, 0, 0])) <= 3
    assert abs(int(corner[-1, 0, 1]) - int(image[-1, 0, 1])) <= 3


def test_a_jpeg_round_trip_changes_a_photograph_little_and_noise_a_lot():
    form = ImageForm(jpeg_quality=95)
    calm = np.abs(form(gradient_image(), size=64).astype(int) - gradient_image())
    wild = np.abs(form(noise(), size=64).astype(int) - noise())
    assert 0 < calm.mean() < 3
    assert wild.mean() > 10


def test_colour_changes_are_the_generators_and_small():
    changes, image = ColourChanges(), gradient_image()
    one, two, other = (changes(image, np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)
    assert np.abs(one.astype(int) - image).mean() < 80


def test_no_change_of_colour_is_none():
    still = ColourChanges(brightness=0.0, contrast=0.0, saturation=0.0, hue=0.0)
    image = gradient_image()
    assert np.abs(still(image, np.random.default_rng(0)).astype(int) - image).max() <= 1


def test_hue_turns_colours_and_leaves_grey():
    turn = ColourChanges(brightness=0.0, contrast=0.0, saturation=0.0, hue=0.5)
    grey = np.full((4, 4, 3), 100, np.uint8)
    assert np.abs(turn(grey, np.random.default_rng(0)).astype(int) - 100).max() <= 1
    red = np.zeros((4, 4, 3), np.uint8)
    red[..., 0] = 200
    assert turn(red, np.random.default_rng(0))[0, 0].argmax() != 0 or (
        turn(red, np.random.default_rng(1))[0, 0].argmax() != 0
    )


def test_patches_hold_every_pixel_once_for_each_of_two_moments_four_neighbours_together():
    image = torch.from_numpy(noise(56))[None]
    found = patches_of(image)
    assert found.shape == (16, 3 * 2 * 14 * 14)
    normal = (image[0].float() / 255 - torch.tensor(MEAN)) / torch.tensor(STD)
    # Patches 0 to 3 are the four of the upper left token, patch 4 begins the token beside it.
    for number, (down, across) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1), (0, 2)]):
        expected = normal[down * 14 : down * 14 + 14, across * 14 : across * 14 + 14]
        for moment in range(2):
            seen = found[number].view(3, 2, 14, 14)[:, moment].permute(1, 2, 0)
            torch.testing.assert_close(seen, expected)
    assert num_merged_tokens(56) == 4
    assert num_merged_tokens(224) == 64


def test_patches_of_several_images_follow_one_another():
    images = torch.from_numpy(np.stack([noise(28), gradient_image(28)]))
    found = patches_of(images)
    assert torch.equal(found[:4], patches_of(images[:1]))
    assert torch.equal(found[4:], patches_of(images[1:]))


@pytest.mark.parametrize("size", [56, 224])
def test_patches_are_those_of_the_transformers_library(size):
    transformers = pytest.importorskip(
        "transformers", reason="needs transformers and peft: pip install 'phaser-vla[backbones]'"
    )
    made = transformers.Qwen2VLImageProcessorPil()(
        Image.fromarray(noise(size)), return_tensors="pt"
    )
    own = patches_of(torch.from_numpy(noise(size))[None])
    torch.testing.assert_close(own, made["pixel_values"], rtol=0, atol=1e-6)
