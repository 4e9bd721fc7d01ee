"""Record scripted experts: seeded, successful only, noisy moves with clean labels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.demonstration import ActionLayout, Task
from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.demos.lerobot_layout import Shapes, Sidecar
from phaser.demos.lerobot_writer import Episode, write_dataset
from phaser.suites.expert_rollout import Followed, Seen, follow
from phaser.suites.metaworld.env import ACTION_NAMES, STATE_NAMES, MetaWorldEnv
from phaser.suites.metaworld.libraries import versions
from phaser.suites.metaworld.recorded_stages import write_stages
from phaser.suites.metaworld.reference_frame import reference_hash
from phaser.suites.metaworld.rendering import CAMERAS, CORNER, HIDDEN_BODIES, IMAGE_SIZE
from phaser.suites.metaworld.seeds import SEEDS
from phaser.suites.metaworld.staged_expert import Stage, StagedExpert
from phaser.suites.recording_settings import RecordingSettings

LAYOUT = ActionLayout(motion=(0, 1, 2), gripper=(3,))
SHAPES = Shapes(
    fps=80,
    robot_type="sawyer",
    state_names=STATE_NAMES,
    action_names=ACTION_NAMES,
    cameras=dict.fromkeys(CAMERAS, (IMAGE_SIZE, IMAGE_SIZE)),
)
FORMAT = 1
"""Raise when recordings of the same settings would come out different."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MetaWorldRecording(RecordingSettings):
    """How demonstrations are recorded."""

    def fingerprint(self, task: Task, split: str) -> dict[str, Any]:
        """All that decides the frames of a recording, except how this machine draws them."""
        return {
            "format": FORMAT,
            "suite": "metaworld",
            "task": task.name,
            "instruction": task.instruction,
            "split": split,
            "num_demos": self.num_demos(split),
            "settings": self.of_one_demo(),
            "corner": CORNER,
            "image_size": IMAGE_SIZE,
            "hidden_bodies": sorted(HIDDEN_BODIES),
            "versions": versions(),
        }

    def folder(self, cache: Path, task: Task, split: str) -> Path:
        """Other settings get another folder, so that recordings never overwrite each other."""
        text = json.dumps(self.fingerprint(task, split), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        return cache / "recordings" / "metaworld" / task.name / f"{split}-{digest}"

    def expected(self, task: Task, split: str) -> dict[str, Any]:
        return self.fingerprint(task, split) | {"frame_sha256": reference_hash()}

    def record(self, folder: Path, task: Task, split: str, each: Callable[[], None]) -> None:
        record(folder, task, split, self, each)


def record(
    folder: Path,
    task: Task,
    split: str,
    recording: MetaWorldRecording,
    each: Callable[[], None] = lambda: None,
) -> None:
    """Write one split of one task; the folder appears when all its demonstrations are there.

    `each` is called whenever a demonstration is recorded.
    """
    stages: list[Sequence[Stage]] = []
    sidecar = Sidecar(
        layout=LAYOUT,
        task_names={task.instruction: task.name},
        recording=recording.expected(task, split),
    )

    def episodes() -> Iterator[Episode]:
        for episode, stages_of_episode in _solved(task, split, recording):
            # What the expert knows stays out of what is read back as a demonstration.
            stages.append(stages_of_episode)
            yield episode
            each()

    write_dataset(folder, episodes(), shapes=SHAPES, sidecar=sidecar)
    write_stages(folder, task, stages)


def _solved(
    task: Task, split: str, recording: MetaWorldRecording
) -> Iterator[tuple[Episode, tuple[Stage, ...]]]:
    env = MetaWorldEnv(task)
    count = recording.num_demos(split)
    successes = 0
    try:
        for seed in SEEDS[split][: count * recording.tries_per_demo]:
            if (found := record_episode(env, seed, recording)) is not None:
                yield found
                successes += 1
            if successes == count:
                return
    finally:
        env.close()
    raise BadInput(
        f"the expert of {task.name!r} solved {successes} of {count * recording.tries_per_demo} "
        f"layouts, {count} are needed; record fewer, allow more steps or lower the noise"
    )


def record_episode(
    env: MetaWorldEnv, seed: int, recording: MetaWorldRecording
) -> tuple[Episode, tuple[Stage, ...]] | None:
    """One demonstration and its expert's stage at every step; nothing when it is not solved."""
    followed = follow_expert(env, seed, recording, env.observe)
    if followed is None:
        return None
    seen = followed.seen
    episode = Episode(
        instruction=env.task.instruction,
        actions=followed.actions,
        states=np.array([one.state for one in seen], np.float32),
        images={name: np.stack([one.images[name] for one in seen]) for name in CAMERAS},
    )
    return episode, followed.stages


def follow_expert(
    env: MetaWorldEnv, seed: int, recording: MetaWorldRecording, look: Callable[[], Seen]
) -> Followed[Seen, Stage] | None:
    """The expert's demonstration from one layout; nothing when it is not solved."""
    expert = StagedExpert(env.task.name)
    env.place(seed)
    return follow(
        env,
        lambda: expert.decide(env.full_state),
        look,
        noise=Streams(seed).named("expert noise", env.task.name),
        deviation=recording.noise,
        motion=LAYOUT.motion,
        max_steps=recording.max_steps,
        steps_after_success=recording.steps_after_success,
    )
