"""Write a rule for what to keep, check it, and use it in a replay memory.

    python examples/02_rule_of_your_own.py

The rule keeps the frames nearest to where the gripper moves. It is compared with frames kept at
random: how many of the stored frames show the brief grasp. No simulator and no network are needed.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace

import numpy as np

from phaser import METHODS, Bucket, Demo, Keep, Method, PreparedTask, Replay, Store, Stream
from phaser.memory.frames import check_enough, frames_of_task, into_buckets
from phaser.testing import toy
from phaser.testing.keep import check_keep


@dataclass(frozen=True, kw_only=True, slots=True)
class NearTheGrip(Keep):
    """Keep the frames nearest to a change of the gripper's command, from all demonstrations."""

    def select(self, task: PreparedTask, num_frames: int, stream: Stream) -> list[Bucket]:
        check_enough(self.most(task), num_frames)
        distances = np.concatenate([steps_from_grip(demo) for demo in task.demos])
        frames = [ref for demo in frames_of_task(task) for ref in demo]
        nearest = np.argsort(distances, kind="stable")[:num_frames]
        return into_buckets(task, [frames[place] for place in nearest])


def steps_from_grip(demo: Demo) -> np.ndarray:
    """For every frame the number of steps to the nearest change of the gripper's command."""
    command = demo.actions[:, demo.layout.gripper[0]]
    changes = np.flatnonzero(np.diff(command)) + 1
    if not len(changes):
        return np.full(demo.num_frames, demo.num_frames)
    return np.abs(np.arange(demo.num_frames)[:, None] - changes).min(axis=1)


def main() -> None:
    check_keep(NearTheGrip())
    print("NearTheGrip passes check_keep")
    mine = replace(METHODS["er"], name="er-near-the-grip", keep=NearTheGrip())
    for method in (METHODS["er"], mine):
        print(f"{method.name:16}  {share_of_grasp(method):.0%} of the stored frames show the grasp")


def share_of_grasp(method: Method) -> float:
    """Learn nothing, keep 40 frames of a task, and look at what is stored."""
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(f"{folder}/memory", method=method, budget=40)
        for instruction, demos in toy.tasks("left"):
            with replay.task(demos, instruction=instruction):
                pass  # your training loop
        buckets = Store.open(f"{folder}/memory").memory.buckets
    stored = {bucket.phase.label: len(bucket.frames) for bucket in buckets}
    return stored.get("grasp", 0) / sum(stored.values())


if __name__ == "__main__":
    main()
