"""Any frame of a video, in any order: the one asked for, never its neighbour."""

from __future__ import annotations

import builtins
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_datasets import SIDE, number_in, write_v3, write_video

from phaser.core.demonstration import ActionLayout, Images
from phaser.core.errors import BadInput, BrokenFile, MissingDependency
from phaser.demos import video
from phaser.demos.lerobot import open_dataset
from phaser.demos.video import VideoImages

LAYOUT = ActionLayout(motion=(0, 1, 2), gripper=(3,))


def images_of(path: Path, num_frames: int, **changes: Any) -> VideoImages:
    settings = {"start_s": 0.0, "fps": 20, "height": SIDE, "width": SIDE}
    return VideoImages(path=path, num_frames=num_frames, **(settings | changes))


@pytest.mark.parametrize(
    "options",
    [
        {"g": "1"},
        {"g": "50", "bf": "3"},
        {"g": "1000", "bf": "0"},
        # Open groups: frames shown before a key frame depend on the group before it.
        {"codec": "mpeg4", "g": "12", "bf": "2"},
        {"codec": "libx265", "x265-params": "open-gop=1:keyint=20:bframes=4:log-level=none"},
    ],
    ids=["key-frames", "long-groups", "one-key-frame", "open-mpeg4", "open-h265"],
)
def test_random_frames_of_a_shared_video_are_exactly_right(
    tmp_path: Path, options: dict[str, str]
) -> None:
    lengths = (37, 1, 64, 90, 23)
    write_v3(tmp_path / "set", lengths, **options)
    demos = open_dataset(tmp_path / "set").demos(LAYOUT)
    firsts = np.cumsum([0, *lengths])
    draw = np.random.default_rng(0)
    for episode in draw.integers(0, len(lengths), 60):
        frames = draw.integers(0, lengths[episode], 3).tolist()
        images = demos[episode].cameras["front"].read(frames)
        assert [number_in(image) - firsts[episode] for image in images] == frames


@pytest.mark.parametrize("fps", [7, 24, 30])
def test_rates_that_do_not_divide_the_clock_lose_no_frame(tmp_path: Path, fps: int) -> None:
    write_video(tmp_path / "a.mp4", range(150), fps=fps, g="40")
    images = images_of(tmp_path / "a.mp4", 150, fps=fps)
    assert [number_in(image) for image in images.read(range(150))] == list(range(150))
    backwards = [number_in(images.read([frame])[0]) for frame in range(149, 0, -9)]
    assert backwards == list(range(149, 0, -9))


def test_an_av1_video_is_read_as_an_h264_one(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", range(40), codec="libsvtav1", g="2", preset="12")
    images = images_of(tmp_path / "a.mp4", 40)
    assert [number_in(image) for image in images.read([39, 0, 17, 17, 4])] == [39, 0, 17, 17, 4]


def test_frames_outside_the_episode_are_refused_though_the_video_goes_on(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", range(40))
    images = images_of(tmp_path / "a.mp4", 10, start_s=0.5)
    assert number_in(images.read([9])[0]) == 19
    with pytest.raises(BadInput, match="frame 10 is outside"):
        images.read([10])
    with pytest.raises(BadInput, match="frame -1 is outside"):
        images.read([-1])


def test_a_video_that_ends_too_early_is_an_error(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", range(20))
    images = images_of(tmp_path / "a.mp4", 30)
    assert number_in(images.read([19])[0]) == 19
    with pytest.raises(BrokenFile, match=r"no frame at 1\.000 s"):
        images.read([20])
    assert number_in(images.read([3])[0]) == 3


def test_a_video_at_half_the_declared_rate_gives_no_neighbours(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", range(20), fps=10)
    images = images_of(tmp_path / "a.mp4", 20, fps=30)
    with pytest.raises(BrokenFile, match="no frame at"):
        images.read([1])


def test_a_video_of_another_size_is_refused(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", range(3))
    with pytest.raises(BrokenFile, match="64 x 64 pixels, its dataset declares 64 x 32"):
        images_of(tmp_path / "a.mp4", 3, width=32).read([0])


def test_what_is_no_mp4_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_video(tmp_path / "real.mp4", range(3))
    playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nreal.mp4\n#EXT-X-ENDLIST\n"
    for content in (b"", b"nothing", playlist.encode(), b"ffconcat version 1.0\nfile real.mp4\n"):
        path.write_bytes(content)
        with pytest.raises(BrokenFile, match="not an mp4"):
            images_of(path, 3).read([0])
    path.unlink()
    with pytest.raises(BrokenFile, match="does not exist"):
        images_of(path, 3).read([0])


def test_a_replaced_video_is_read_anew(tmp_path: Path) -> None:
    images = images_of(tmp_path / "a.mp4", 10)
    for offset in (0, 100):
        write_video(tmp_path / "new.mp4", range(offset, offset + 10))
        (tmp_path / "new.mp4").replace(tmp_path / "a.mp4")
        assert number_in(images.read([4])[0]) == offset + 4


def test_no_more_videos_stay_open_than_the_limit(tmp_path: Path) -> None:
    video._OPEN.close_all()
    for number in range(video.MAX_OPEN_VIDEOS + 3):
        write_video(tmp_path / f"{number}.mp4", [number])
        assert number_in(images_of(tmp_path / f"{number}.mp4", 1).read([0])[0]) == number
    assert len(video._OPEN) == video.MAX_OPEN_VIDEOS


def test_a_video_crosses_process_borders_as_a_value(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", range(5))
    copied = pickle.loads(pickle.dumps(images_of(tmp_path / "a.mp4", 5)))
    assert number_in(copied.read([4])[0]) == 4


def _read_in_child(images: Images, answers: Any) -> None:
    inherited = len(video._OPEN)
    answers.put((inherited, [number_in(image) for image in images.read([31, 2])]))


def test_a_forked_child_opens_its_own_container(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", range(40), g="40")
    images = images_of(tmp_path / "a.mp4", 40)
    assert number_in(images.read([10])[0]) == 10
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    children = [context.Process(target=_read_in_child, args=(images, answers)) for _ in range(2)]
    for child in children:
        child.start()
    found = [answers.get(timeout=30) for _ in children]
    for child in children:
        child.join(timeout=30)
    assert found == [(0, [31, 2])] * 2
    assert number_in(images.read([11])[0]) == 11


def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without_av(name: str, *rest: Any, **named: Any) -> Any:
        if name == "av":
            raise ImportError(name)
        return real(name, *rest, **named)

    write_video(tmp_path / "a.mp4", range(3))
    monkeypatch.setattr(builtins, "__import__", without_av)
    with pytest.raises(MissingDependency, match=r"phaser-vla\[video\]"):
        images_of(tmp_path / "a.mp4", 3).read([0])
