"""Contact sheets: one file, small pictures, and no markup from names."""

import base64
import io
import re

import numpy as np
from PIL import Image

from phaser.report.contact_sheet import MAX_SIDE, PhaseSheet, TaskSheet, Thumbnail, contact_sheet


def page_of(pixels: np.ndarray, *, name: str = "lift", caption: str = "episode 0 · 7") -> str:
    thumbnails = [Thumbnail(pixels=pixels, caption=caption)]
    phase = PhaseSheet(label="1 grasp", about="1 frames", thumbnails=thumbnails)
    task = TaskSheet(name=name, about="about", phases=[phase])
    return contact_sheet([task], title="Memory", about="folder")


def pictures_in(page: str) -> list[Image.Image]:
    found = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', page)
    return [Image.open(io.BytesIO(base64.b64decode(one))) for one in found]


def test_a_frame_is_reduced_with_its_sides_in_proportion_and_looks_the_same() -> None:
    pixels = np.zeros((300, 600, 3), np.uint8)
    pixels[:, :300] = 250, 10, 10
    (picture,) = pictures_in(page_of(pixels))
    assert picture.size == (MAX_SIDE, MAX_SIDE // 2)
    red, black = picture.getpixel((10, 30)), picture.getpixel((120, 30))
    assert np.allclose(red, (250, 10, 10), atol=12)
    assert np.allclose(black, 0, atol=12)


def test_small_frames_are_not_enlarged() -> None:
    (picture,) = pictures_in(page_of(np.zeros((20, 30, 3), np.uint8)))
    assert picture.size == (30, 20)


def test_names_are_text_never_markup() -> None:
    hostile = '"><script>alert(1)</script>'
    page = page_of(np.zeros((20, 20, 3), np.uint8), name=hostile, caption=hostile)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 3
