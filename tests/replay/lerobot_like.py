"""A dataset with the parts of a LeRobotDataset that replay looks at, without LeRobot."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from made_samples import actions_of, pixels_of

JOINTS = ["shoulder_pan.pos", "elbow_flex.pos", "wrist_roll.pos", "gripper.pos"]


class Rows:
    """What LeRobot keeps its rows in: columns can be chosen, the format can be set."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = columns
        self.column_names = list(columns)

    def select_columns(self, names: list[str]) -> Rows:
        return Rows({name: self.columns[name] for name in names})

    def with_format(self, kind: str) -> Rows:
        assert kind == "numpy"
        return self

    def __getitem__(self, rows: slice) -> dict[str, Any]:
        return {name: values[rows] for name, values in self.columns.items()}


@dataclass
class LeRobotDatasetLike:
    """Episodes of one camera; `asked` counts the samples that were decoded."""

    instructions: tuple[str, ...] = ("lift the cup",)
    """One per episode; the last one is that of the episodes after it, too."""
    lengths: tuple[int, ...] = (12, 15, 18)
    image_transforms: Any = None
    names: list[str] = field(default_factory=lambda: list(JOINTS))
    as_bytes: bool = False
    closing: float = -1.0
    """The sign with which the gripper's number goes up when it closes."""
    asked: list[int] = field(default_factory=list)
    extra: Any = None
    """A function from episode and frame to more entries of a sample."""

    def __post_init__(self) -> None:
        known = list(dict.fromkeys(self.instructions))
        columns: dict[str, list[Any]] = {
            name: [] for name in ("action", "episode_index", "frame_index", "task_index")
        }
        for episode, length in enumerate(self.lengths):
            said = self.instructions[min(episode, len(self.instructions) - 1)]
            for frame, action in enumerate(self.targets(length)):
                columns["action"].append(action)
                columns["episode_index"].append(episode)
                columns["frame_index"].append(frame)
                columns["task_index"].append(known.index(said))
        self.hf_dataset = Rows({name: np.array(values) for name, values in columns.items()})
        self.meta = SimpleNamespace(
            info={"robot_type": "so101_follower", "features": {"action": {"names": self.names}}},
            tasks=dict(enumerate(known)),
            camera_keys=["observation.images.top"],
        )

    def targets(self, length: int) -> np.ndarray:
        """Joint targets: the sum of motions; the gripper's own number as it is."""
        actions = actions_of(length)
        motion = np.cumsum(actions[:, :3], axis=0)
        gripper = self.closing * actions[:, 3:]
        return np.concatenate([motion, gripper], axis=1).astype(np.float32)

    def __len__(self) -> int:
        return sum(self.lengths)

    def __getitem__(self, row: int) -> dict[str, Any]:
        self.asked.append(row)
        columns = self.hf_dataset.columns
        episode, frame = int(columns["episode_index"][row]), int(columns["frame_index"][row])
        image = torch.from_numpy(np.moveaxis(pixels_of(episode, frame), 2, 0).copy())
        image = image if self.as_bytes else image.float() / 255
        if self.image_transforms is not None:
            image = self.image_transforms(image)
        return {
            "observation.images.top": image,
            "action": torch.from_numpy(columns["action"][row]),
            "episode_index": torch.tensor(episode),
            "frame_index": torch.tensor(frame),
            "task": self.meta.tasks[int(columns["task_index"][row])],
            **(self.extra(episode, frame) if self.extra else {}),
        }


class OnDisk(LeRobotDatasetLike):
    """The same with a folder, opened as LeRobot opens one; samples do not depend on its files."""

    def __init__(self, repo_id: str, root: Any = None, **settings: Any) -> None:
        self.settings = settings
        self.opened = (repo_id, str(root))
        super().__init__(instructions=(repo_id.rpartition("/")[2],))
        self.repo_id, self.root = repo_id, root
        self.revision, self.video_backend = "v3.0", "pyav"
        self.episodes = settings.get("episodes")
        self.delta_timestamps = settings.get("delta_timestamps")


def write_folder(root: Path) -> Path:
    """A LeRobot dataset of three short episodes, with images in its table."""
    from phaser.demos.lerobot_layout import Shapes
    from phaser.demos.lerobot_writer import Episode, write_dataset

    episodes = [
        Episode(
            instruction="lift the cup",
            actions=actions_of(length),
            states=actions_of(length),
            images={"top": np.stack([pixels_of(number, k) for k in range(length)])},
        )
        for number, length in enumerate((12, 15, 18))
    ]
    names = ("x", "y", "z", "gripper")
    shapes = Shapes(
        fps=10,
        robot_type="none",
        state_names=names,
        action_names=names,
        cameras={"top": (16, 16)},
    )
    write_dataset(root, episodes, shapes=shapes, sidecar=None)
    return root
