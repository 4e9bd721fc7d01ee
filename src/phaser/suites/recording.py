"""Record scripted experts: seeded, successful only, noisy moves with clean labels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import ActionLayout, Task
from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.demos.lerobot_layout import Shapes, Sidecar
from phaser.demos.lerobot_writer import Episode, write_dataset
from phaser.suites.frame_hash import reference_hash
from phaser.suites.libraries import versions
from phaser.suites.metaworld_env import ACTION_NAMES, STATE_NAMES, MetaWorldEnv
from phaser.suites.recorded_stages import write_stages
from phaser.suites.rendering import CAMERAS, CORNER, HIDDEN_BODIES, IMAGE_SIZE
from phaser.suites.seeds import SEEDS
from phaser.suites.staged_expert import Stage, StagedExpert

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

SPLITS = ("train", "heldout")
Seen = TypeVar("Seen")


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """How demonstrations are recorded."""

    num_train: int = 25
    num_heldout: int = 5
    noise: float = 0.15
    """Deviation of the noise added to executed moves; labels stay the expert's own."""
    steps_after_success: int = 5
    max_steps: int = 200
    tries_per_demo: int = 4

    def __post_init__(self) -> None:
        if min(self.num_train, self.num_heldout) < 1 or self.noise < 0 or self.max_steps < 1:
            raise BadInput(
                f"{self}; expected at least one demonstration each and no negative noise"
            )

    def num_demos(self, split: str) -> int:
        return self.num_train if split == "train" else self.num_heldout

    def fingerprint(self, task: Task, split: str) -> dict[str, Any]:
        """All that decides the frames of a recording, except how this machine draws them."""
        settings = asdict(self)
        count = self.num_demos(split)
        settings = {k: v for k, v in settings.items() if k not in ("num_train", "num_heldout")}
        return {
            "format": FORMAT,
            "suite": "metaworld",
            "task": task.name,
            "instruction": task.instruction,
            "split": split,
            "num_demos": count,
            "settings": settings,
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


def record(
    folder: Path,
    task: Task,
    split: str,
    recording: Recording,
    each: Callable[[], None] = lambda: None,
) -> None:
    """Write one split of one task; the folder appears when all its demonstrations are there.

    `each` is called whenever a demonstration is recorded.
    """
    stages: list[Sequence[Stage]] = []
    found = recording.fingerprint(task, split) | {"frame_sha256": reference_hash()}
    sidecar = Sidecar(layout=LAYOUT, task_names={task.instruction: task.name}, recording=found)

    def episodes() -> Iterator[Episode]:
        for episode, stages_of_episode in _solved(task, split, recording):
            # What the expert knows stays out of what is read back as a demonstration.
            stages.append(stages_of_episode)
            yield episode
            each()

    write_dataset(folder, episodes(), shapes=SHAPES, sidecar=sidecar)
    write_stages(folder, task, stages)


def _solved(
    task: Task, split: str, recording: Recording
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
    env: MetaWorldEnv, seed: int, recording: Recording
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed(Generic[Seen]):
    """A solved demonstration: what was seen, commanded and meant at every step."""

    seen: tuple[Seen, ...]
    actions: Float[np.ndarray, "frames action"]
    stages: tuple[Stage, ...]


def follow_expert(
    env: MetaWorldEnv, seed: int, recording: Recording, look: Callable[[], Seen]
) -> Followed[Seen] | None:
    """Carry out what the expert says, with noise on the motion; nothing when it is not solved.

    Goes on for a few steps after success, so that the demonstration shows the solved task.
    """
    expert = StagedExpert(env.task.name)
    noise = Streams(seed).named("expert noise", env.task.name)()
    seen: list[Seen] = []
    actions: list[np.ndarray] = []
    stages: list[Stage] = []
    env.place(seed)
    steps_left, solved = recording.max_steps, False
    while steps_left > 0:
        seen.append(look())
        action, stage = expert.decide(env.full_state)
        actions.append(action)
        stages.append(stage)
        executed = action.copy()
        executed[list(LAYOUT.motion)] += noise.normal(0.0, recording.noise, len(LAYOUT.motion))
        success = env.step(executed)
        steps_left -= 1
        if success and not solved:
            solved = True
            steps_left = min(steps_left, recording.steps_after_success - 1)
    if not solved:
        return None
    return Followed(seen=tuple(seen), actions=np.array(actions, np.float32), stages=tuple(stages))
