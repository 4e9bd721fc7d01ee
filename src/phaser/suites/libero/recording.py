"""Record LIBERO's scripted experts: official initial states, noisy moves with clean labels.

The simulator runs in a process of its own, which never imports torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.demonstration import ActionLayout, Task
from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.demos.lerobot_layout import Shapes, Sidecar
from phaser.demos.lerobot_writer import Episode, write_dataset
from phaser.suites.expert_rollout import Followed, follow
from phaser.suites.frame_hash import hash_of
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.env import LiberoEnv
from phaser.suites.libero.experts.expert import Expert
from phaser.suites.libero.protocol import Protocol
from phaser.suites.libero.recorded_truths import write_stage_names, write_truths
from phaser.suites.libero.recording_process import record_in_process
from phaser.suites.libero.runtime import versions
from phaser.suites.libero.simulator import Control
from phaser.suites.libero.splits import STATES
from phaser.suites.libero.tasks import suite_of
from phaser.suites.recording_settings import RecordingSettings

LAYOUT = ActionLayout(motion=(0, 1, 2, 3, 4, 5), gripper=(6,))
ACTION_NAMES = ("dx", "dy", "dz", "rx", "ry", "rz", "gripper")
FINGERS = ("left finger", "right finger")
STATE_NAMES = {
    "pose": ("x", "y", "z", "ax", "ay", "az", *FINGERS),
    "pose-from-down": ("x", "y", "z", "ax", "ay", "az", *FINGERS),
    "joints": (*(f"joint {k}" for k in range(1, 8)), *FINGERS),
}
FORMAT = 1
"""Raise when recordings of the same settings would come out different."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LiberoRecording(RecordingSettings):
    """How demonstrations are recorded."""

    num_train: int = 30
    noise: float = 0.1
    max_steps: int = 400
    tries_per_demo: int = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class ProtocolRecording:
    """A recording as one protocol sees it; what the recorder asks."""

    settings: LiberoRecording
    protocol: Protocol
    control: Control = "compiled"

    def num_demos(self, split: str) -> int:
        return self.settings.num_demos(split)

    def expected(self, task: Task, split: str) -> dict[str, Any]:
        """All that decides the frames of a recording, except how this machine draws them."""
        # Trajectories are the same to the bit under the two controls that compile.
        compiled = {} if self.control == "fast" else {"control": "compiled"}
        return compiled | {
            "format": FORMAT,
            "suite": suite_of(task.name),
            "task": task.name,
            "instruction": task.instruction,
            "split": split,
            "num_demos": self.num_demos(split),
            "settings": self.settings.of_one_demo(),
            "protocol": self.protocol.to_json(),
            "versions": versions(),
        }

    def folder(self, cache: Path, task: Task, split: str) -> Path:
        text = json.dumps(self.expected(task, split), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        return cache / "recordings" / suite_of(task.name) / task.name / f"{split}-{digest}"

    def record(self, folder: Path, task: Task, split: str, each: Callable[[], None]) -> None:
        assets_folder(suite_of(task.name))
        record_in_process(self, folder, task, split, each)

    def record_here(self, folder: Path, task: Task, split: str, each: Callable[[], None]) -> None:
        """Write one split of one task; the folder appears when all its demonstrations are there."""
        stages: list[tuple[str, ...]] = []
        truths: list[list[tuple[bool, ...]]] = []
        suite = suite_of(task.name)
        env = LiberoEnv(task, self.protocol, assets=assets_folder(suite), control=self.control)
        drawn = frame_hash(env)
        sidecar = Sidecar(
            layout=LAYOUT,
            task_names={task.instruction: task.name},
            recording=self.expected(task, split) | {"frame_sha256": drawn},
        )

        def episodes() -> Iterator[Episode]:
            for followed in self._solved(env, split):
                # What the expert knows stays out of what is read back as a demonstration.
                stages.append(followed.stages)
                truths.append([one[1] for one in followed.seen])
                yield self._episode(task, followed)
                each()

        write_dataset(folder, episodes(), shapes=self._shapes(), sidecar=sidecar)
        write_truths(folder, env.truth.names, truths)
        write_stage_names(folder, stages)

    def demonstration(
        self, env: LiberoEnv, state: int, *, attempt: int = 0, draw: bool = True
    ) -> Followed[Any, str] | None:
        """One episode from an official initial state; nothing when it is not solved."""
        env.place(state)
        expert = Expert(env.task.name, env.simulator.model, env.simulator.data)

        def decide() -> tuple[np.ndarray, str]:
            command, stage = expert.decide()
            return self.protocol.action(command), stage

        def look() -> Any:
            return (env.observe() if draw else env.simulator.state(), env.truth.now())

        return follow(
            env,
            decide,
            look,
            noise=Streams(state).named("expert noise", env.task.name, attempt),
            deviation=self.settings.noise,
            motion=LAYOUT.motion,
            max_steps=self.settings.max_steps,
            steps_after_success=self.settings.steps_after_success,
        )

    def _solved(self, env: LiberoEnv, split: str) -> Iterator[Followed[Any, str]]:
        count, found = self.num_demos(split), 0
        numbered = [
            (state, attempt)
            for attempt in range(self.settings.tries_per_demo)
            for state in STATES[split]
        ]
        for state, attempt in numbered:
            if found == count:
                return
            if (followed := self.demonstration(env, state, attempt=attempt)) is not None:
                yield followed
                found += 1
        if found < count:
            raise BadInput(
                f"the expert of {env.task.name!r} solved {found} of {len(numbered)} tries, "
                f"{count} are needed; record fewer, allow more steps or lower the noise"
            )

    def _episode(self, task: Task, followed: Followed[Any, str]) -> Episode:
        seen = [one[0] for one in followed.seen]
        cameras = self.protocol.cameras
        return Episode(
            instruction=task.instruction,
            actions=followed.actions,
            states=np.array([one.state for one in seen], np.float32),
            images={name: np.stack([one.images[name] for one in seen]) for name in cameras},
        )

    def _shapes(self) -> Shapes:
        size = self.protocol.image_size
        return Shapes(
            fps=self.protocol.control_hz,
            robot_type="panda",
            state_names=STATE_NAMES[self.protocol.state],
            action_names=ACTION_NAMES,
            cameras=dict.fromkeys(self.protocol.cameras, (size, size)),
        )


def frame_hash(env: LiberoEnv) -> str:
    """Of all cameras at the first initial state: whether two machines draw the same pixels."""
    return hash_of(env.reset(0).images)
