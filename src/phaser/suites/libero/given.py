"""Demonstrations of LIBERO that others recorded, as a protocol shows them to a policy.

The published HDF5 files (`TASK_demo.hdf5`) store images upside down, close the gripper with +1 and
show at each step what its action led to; the protocol and the settings here say what a policy sees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.demonstration import Demo, Task
from phaser.core.errors import BadInput, UnknownName
from phaser.core.suite import SPLITS
from phaser.demos.content_hash import remembered_sha256
from phaser.demos.hdf5 import Hdf5File, open_hdf5
from phaser.demos.hdf5_conventions import observed_after_action
from phaser.demos.held_out import last_held_out
from phaser.demos.resized import RESIZING
from phaser.demos.turned import AS_STORED, TurnedImages
from phaser.suites.foreign_demos import FOREIGN, Observed, Reading
from phaser.suites.libero.demonstrations import check_gripper
from phaser.suites.libero.protocol import CAMERAS, Protocol
from phaser.suites.libero.published import (
    demonstration_name,
    fetched_demonstrations,
    published_folder,
)
from phaser.suites.libero.recording import LAYOUT, STATE_NAMES
from phaser.suites.libero.rotations import turns_from_down
from phaser.suites.libero.tasks import suite_of

PUBLISHED = "published"
"""Stands for the folder that `phaser libero fetch --demonstrations` fills."""
CAMERA_KEYS = dict(zip(CAMERAS, ("agentview_rgb", "eye_in_hand_rgb"), strict=True))
STATE_KEYS = {
    "pose": ("obs/ee_states", "obs/gripper_states"),
    "pose-from-down": ("obs/ee_states", "obs/gripper_states"),
    "joints": ("obs/joint_states", "obs/gripper_states"),
}
TURNS = {
    "opengl": {"opengl": AS_STORED, "upright": "flip-vertical", "rotated": "rotate-180"},
    "opencv": {"opengl": "flip-vertical", "upright": AS_STORED, "rotated": "flip-horizontal"},
}
"""Turns of images, by the convention of the file and the orientation of the protocol."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenFiles:
    """A folder of HDF5 files, and how they are read."""

    folder: str
    """With the files themselves or a folder per suite; or PUBLISHED."""
    protocol: Protocol
    heldout_share: float
    drop_no_ops: bool
    observed: Observed
    cache: Path

    def path(self, task: Task) -> Path:
        """The file of a task, there or not."""
        suite, name = suite_of(task.name), demonstration_name(task.name)
        if self.folder == PUBLISHED:
            return fetched_demonstrations() / suite / name
        folder = Path(self.folder)
        places = [folder / name, folder / suite / name, folder / published_folder(suite) / name]
        return next((place for place in places if place.is_file()), places[0])

    def demos(self, task: Task, split: str) -> tuple[Demo, ...]:
        """One split of a task's demonstrations: the last ones are held out."""
        if split not in SPLITS:
            raise UnknownName("split", split, SPLITS)
        path = self.require(task)
        keys = STATE_KEYS[self.protocol.state]
        file = open_hdf5(path, state_keys=keys, instruction=task.instruction)
        named = file.episodes[0].task.name
        if named not in (task.name, task.instruction):
            raise BadInput(f"{path} shows {named!r} by its own word; expected {task.name!r}")
        read = self._reading(task, path)
        held = last_held_out(len(file.episodes), self.heldout_share)
        return tuple(
            self._as_protocol(read(self._turned(file, file.demo(episode, LAYOUT))))
            for place, episode in enumerate(file.episodes)
            if (place in held) == (split == "heldout")
        )

    def images_sha256(self, task: Task, split: str) -> str:
        """A hash of the file, and of all that decides how its frames are seen."""
        facts = [remembered_sha256(self.require(task), self.cache), split, repr(self.protocol)]
        facts += [repr(self.heldout_share), str(self.drop_no_ops), self.observed]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()

    def require(self, task: Task) -> Path:
        path = self.path(task)
        if not path.is_file():
            fetch = "phaser libero fetch --demonstrations"
            raise BadInput(
                f"{path} does not exist, which should hold the demonstrations of {task.name!r}; "
                + (f"run: {fetch}" if self.folder == PUBLISHED else f"restore it, or run: {fetch}")
            )
        return path

    def facts(self) -> dict[str, Any]:
        """Facts about these demonstrations that belong into the contract."""
        return {
            "source": "HDF5 files with LIBERO's names",
            "frames": FOREIGN,
            "resized": RESIZING,
            "drop_no_ops": self.drop_no_ops,
            "observed": self.observed,
        }

    def _reading(self, task: Task, path: Path) -> Reading:
        unknown = [name for name in self.protocol.cameras if name not in CAMERA_KEYS]
        if unknown:
            raise BadInput(f"{path} has no camera {unknown[0]!r}; it has {', '.join(CAMERA_KEYS)}")
        size = self.protocol.image_size
        after = observed_after_action(path) if self.observed == "by-file" else None
        return Reading(
            task=task.name,
            source=str(path),
            cameras={name: CAMERA_KEYS[name] for name in self.protocol.cameras},
            image_size=(size, size),
            resize=True,
            after_action=self.observed == "after" if after is None else after,
            drop_no_ops=self.drop_no_ops,
        )

    def _turned(self, file: Hdf5File, demo: Demo) -> Demo:
        check_gripper(demo, "libero")
        turns: Mapping[str, str] = TURNS.get(file.image_convention or "opengl", TURNS["opengl"])
        turn = turns[self.protocol.orientation]
        turned = {k: TurnedImages(images=v, turn=turn) for k, v in demo.cameras.items()}
        return replace(demo, cameras=turned)

    def _as_protocol(self, demo: Demo) -> Demo:
        """States and actions in the protocol's words."""
        states, expected = demo.states, len(STATE_NAMES[self.protocol.state])
        if states.shape[1] != expected or demo.actions.shape[1] != 7:
            raise BadInput(
                f"demonstration {demo.index} of {demo.task!r} has states of {states.shape[1]} and "
                f"actions of {demo.actions.shape[1]} numbers; expected {expected} and 7"
            )
        if self.protocol.state == "pose-from-down":
            states = np.concatenate(
                [states[:, :3], turns_from_down(states[:, 3:6]), states[:, 6:]], axis=1
            )
        actions = np.stack([self.protocol.action(one) for one in demo.actions])
        return replace(demo, states=states, actions=actions)
