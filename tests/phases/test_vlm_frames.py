"""Which frames are shown, and that a reader can tell their steps."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from phaser.core.errors import BadInput
from phaser.phases.vlm_frames import Frame, as_jpeg, as_mp4, chosen_steps, drawn, film_strip


def grey(step, height=48, width=64):
    return Frame(step=step, pixels=np.full((height, width, 3), 128, np.uint8))


@st.composite
def episodes(draw):
    num_frames = draw(st.integers(2, 400))
    steps = st.integers(1, max(1, num_frames - 2))
    found = sorted(draw(st.sets(steps, max_size=8)) if num_frames > 2 else set())
    return found, num_frames, draw(st.integers(len(found) + 2, 60))


@given(episodes())
def test_ends_and_candidates_are_always_shown_within_the_limit(case):
    found, num_frames, max_frames = case
    steps = chosen_steps(found, num_frames=num_frames, max_frames=max_frames)
    assert steps == sorted(set(steps))
    assert {0, num_frames - 1, *found} <= set(steps)
    assert len(steps) == min(max_frames, num_frames)
    assert steps[0] == 0
    assert steps[-1] == num_frames - 1


def test_the_default_limit_shows_both_surroundings_of_eight_candidates():
    found = list(range(30, 190, 20))
    steps = set(chosen_steps(found, num_frames=200, max_frames=48))
    assert {step + offset for step in found for offset in (-5, -2, 0, 2, 5)} <= steps


def test_a_limit_below_the_candidates_is_refused():
    with pytest.raises(BadInput, match="allow more frames"):
        chosen_steps([10, 20, 30], num_frames=50, max_frames=4)


def test_the_step_is_printed_above_the_picture_and_hides_none_of_it():
    one, other = np.asarray(drawn(grey(7))), np.asarray(drawn(grey(123)))
    band = len(one) - 224
    assert (one[:band] != other[:band]).any()
    assert (one[band:] == 128).all()
    assert min(one.shape[:2]) >= 224


@pytest.mark.parametrize("size", [(1, 2000), (2000, 1), (1080, 1920), (64, 64)])
def test_pictures_of_any_size_stay_small(size):
    assert max(drawn(grey(1, *size)).size) <= 512 + 24


def test_jpegs_and_videos_can_be_opened():
    assert Image.open(io.BytesIO(as_jpeg(grey(3)))).format == "JPEG"
    av = pytest.importorskip("av", reason="the extra 'video' is not installed")
    with av.open(io.BytesIO(as_mp4([grey(3), grey(9), grey(12)]))) as container:
        frames = [one.to_ndarray(format="rgb24") for one in container.decode(video=0)]
    assert len(frames) == 3
    assert abs(int(frames[0][100:].mean()) - 128) < 8


def test_a_film_strip_marks_where_phases_begin():
    frames = [grey(step) for step in (0, 10, 20, 30)]
    strip = np.asarray(film_strip(frames, boundaries=[15], columns=2))
    height, width = strip.shape[0] // 2, strip.shape[1] // 2
    red = (strip == [255, 0, 0]).all(axis=-1)
    assert red[height + 1, 0]
    assert not red[:height].any()
    assert not red[:, width:].any()
