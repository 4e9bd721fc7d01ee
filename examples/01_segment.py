"""Cut demonstrations into phases and print where, why and how unequal they are.

    python examples/01_segment.py                 made-up demonstrations: reach, grasp, carry
    python examples/01_segment.py FOLDER          a recording of `phaser record` (LeRobot v3.0)

No simulator and no network are needed. Phases come from the action signal alone (Auto-PC stage 1).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from phaser.core.demonstration import ActionLayout, Demo
from phaser.core.errors import PhaserError
from phaser.core.segmentation import Segmentation
from phaser.core.streams import Streams
from phaser.demos.lerobot import open_dataset
from phaser.phases.autopc import AutoPC

STRETCHES = ((40, (0.6, 0.3, -0.5), -1.0), (8, (0.0, 0.0, -0.1), 1.0), (30, (-0.4, 0.5, 0.6), 1.0))
"""Frames, direction of motion and gripper command of a reach, a brief grasp and a carry."""


def main(arguments: Sequence[str]) -> None:
    demos = open_dataset(Path(arguments[0])).demos() if arguments else made_up_demos(num_demos=5)
    segmenter = AutoPC()
    print_candidates(demos[segmenter.reference(demos)], segmenter)
    print_phases(demos, segmenter.segment(demos))


def made_up_demos(*, num_demos: int) -> tuple[Demo, ...]:
    """The same three stretches, each demonstration slower than the one before."""
    rng = Streams(0).named("example")()
    demos = []
    for index in range(num_demos):
        parts = []
        for frames, direction, gripper in STRETCHES:
            length = frames + 2 * index
            # Scripted experts move fast while far away and slow down as they arrive.
            speed = np.linspace(1.0, 0.1, length)[:, None]
            noise = rng.normal(0, 0.02, (length, 3))
            parts.append(np.c_[speed * np.array(direction) + noise, np.full(length, gripper)])
        actions = np.concatenate(parts)
        states = np.cumsum(actions, axis=0)
        layout = ActionLayout(motion=(0, 1, 2), gripper=(3,))
        demos.append(Demo(task="lift", index=index, actions=actions, states=states, layout=layout))
    return tuple(demos)


def print_candidates(typical: Demo, segmenter: AutoPC) -> None:
    print(f"{typical.task}: candidates in its typical demonstration, number {typical.index}")
    for one in segmenter.candidates(typical):
        evidence = ", ".join(sorted(one.evidence)) or "weak"
        print(f"  frame {one.step:4}  score {one.score:.2f}  {evidence}")


def print_phases(demos: Sequence[Demo], cuts: Sequence[Segmentation]) -> None:
    print(f"phases of all {len(demos)} demonstrations")
    for demo, cut in zip(demos, cuts, strict=True):
        spans = "  ".join(f"{phase.label} [{phase.start}, {phase.stop})" for phase in cut.phases)
        print(f"  number {demo.index:3}, {demo.num_frames:4} frames: {spans}")
    print("share of all frames, and what equal buckets would give each phase")
    total = sum(cut.num_frames for cut in cuts)
    for k, label in enumerate(cuts[0].labels):
        share = sum(len(cut.phases[k]) for cut in cuts) / total
        print(f"  {label:12} {share:4.0%} -> {1 / len(cuts[0].labels):4.0%}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except PhaserError as error:
        sys.exit(f"01_segment: {error}")
