"""Read a LeRobot dataset (v2.0, v2.1, v3.0): pyarrow for rows and images, PyAV for videos.

Pixels stay in their files until they are read. Nothing in the files is trusted: versions, paths,
sizes and counts are checked before they are used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from phaser.core.demonstration import ActionLayout, Demo, Images
from phaser.core.errors import BrokenFile
from phaser.core.files import sha256
from phaser.demos.declared_layout import declared_layout
from phaser.demos.layouts import NoLayout
from phaser.demos.lerobot_episodes import read_episodes
from phaser.demos.lerobot_info import Info, read_info
from phaser.demos.lerobot_layout import Shapes, Sidecar, read_sidecar
from phaser.demos.parquet_rows import EpisodeRows, ParquetImages, read_rows, vectors
from phaser.demos.video import VideoImages


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """An opened dataset: what it declares, our sidecar if it has one, where each episode lies."""

    root: Path
    info: Info
    sidecar: Sidecar | None

    @property
    def shapes(self) -> Shapes:
        return self.info.shapes

    @cached_property
    def episodes(self) -> tuple[EpisodeRows, ...]:
        return read_episodes(self.root, self.info)

    def data_sha256(self, hash_of: Callable[[Path], str] = sha256) -> str:
        """One hash over all data files, images and videos included.

        hash_of: the hash of one file; one that remembers spares reading large files again.
        """
        paths = dict.fromkeys(episode.path for episode in self.episodes)
        videos = sorted(place.path for part in self.episodes for place in part.videos.values())
        paths |= dict.fromkeys(videos)
        return hashlib.sha256("".join(hash_of(path) for path in paths).encode()).hexdigest()

    def task_name(self, episode: EpisodeRows) -> str:
        """The suite's name of the task where our sidecar knows it, else the instruction."""
        names = self.sidecar.task_names if self.sidecar else {}
        return names.get(episode.instruction, episode.instruction)

    def layout_or(self, layout: ActionLayout | None) -> ActionLayout:
        """The layout that was given, else that of our sidecar, else what the dataset's own names
        of its robot and joints say; never a guess."""
        layout = layout or (self.sidecar.layout if self.sidecar else None)
        layout = layout or declared_layout(self.shapes.robot_type, self.shapes.action_names)
        if layout is None:
            raise NoLayout(self.root)
        return layout if layout.translation else replace(layout, translation=self._xyz(layout))

    def _xyz(self, layout: ActionLayout) -> tuple[int, ...]:
        """The dimensions that the dataset itself calls x, y and z, or their changes."""
        names = [name.lower().rpartition(".")[2] for name in self.shapes.action_names]
        for wanted in (("x", "y", "z"), ("dx", "dy", "dz")):
            if all(names.count(one) == 1 for one in wanted):
                found = tuple(names.index(one) for one in wanted)
                return found if set(found) <= set(layout.motion) else ()
        return ()

    def demos(self, layout: ActionLayout | None = None) -> tuple[Demo, ...]:
        """All demonstrations; `layout` is needed for datasets without our sidecar."""
        layout = self.layout_or(layout)
        return tuple(self.demo(episode, layout) for episode in self.episodes)

    def demo(self, episode: EpisodeRows, layout: ActionLayout) -> Demo:
        """One demonstration: its vectors now, its images on demand."""
        action, state = self.info.action_column, self.info.state_column
        table = read_rows(episode, [state, action, "episode_index", "frame_index", "timestamp"])
        _check_rows(table, episode, self.shapes.fps)
        cameras = {name: self._images(episode, name) for name in self.shapes.cameras}
        return Demo(
            task=self.task_name(episode),
            index=episode.index,
            actions=vectors(table, action, len(self.shapes.action_names), episode),
            states=vectors(table, state, len(self.shapes.state_names), episode),
            layout=layout,
            cameras=cameras,
            instruction=episode.instruction,
        )

    def _images(self, episode: EpisodeRows, camera: str) -> Images:
        height, width = self.shapes.cameras[camera]
        if camera not in self.info.video_cameras:
            column = self.info.camera_columns[camera]
            return ParquetImages(episode=episode, column=column, height=height, width=width)
        place = episode.videos[camera]
        return VideoImages(
            path=place.path,
            start_s=place.start_s,
            fps=self.shapes.fps,
            num_frames=episode.num_frames,
            height=height,
            width=width,
        )


def open_dataset(root: Path) -> Dataset:
    """Check the description of a dataset; no frame is read yet."""
    return Dataset(root=root, info=read_info(root), sidecar=read_sidecar(root))


def _check_rows(table: pa.Table, episode: EpisodeRows, fps: int) -> None:
    frames = np.arange(episode.num_frames)
    counted = table["frame_index"].to_numpy()
    numbered = table["episode_index"].to_numpy()
    if not ((counted == frames).all() and (numbered == episode.index).all()):
        raise BrokenFile(f"{episode.path} holds other rows than episode {episode.index}")
    late = np.abs(table["timestamp"].to_numpy() - frames / fps)
    if not (late < 0.5 / fps).all():
        raise BrokenFile(
            f"{episode.path}: the frames of episode {episode.index} are not {fps} per second, "
            "as info.json declares; restore or convert the dataset"
        )
