"""Which looks decide a phase: the policy acts open loop, so brief phases are hardly looked at.

    python -m benchmarks.looks [--task-list metaworld-learnable] [--actions-per-look 8] [--json]

A policy that carries out a chunk of actions before it looks again decides the first actions of a
phase at a look before it. For every phase of the recorded demonstrations, and for all places that
a look may fall on: how often is the phase looked at, and which share of its actions was decided
before it began? No training, no rollouts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from phaser.experiments.presets import preset
from phaser.suites.metaworld.suite import MetaWorld

KINDS = (("up to 4 steps", 1, 4), ("5 to 8", 5, 8), ("9 to 16", 9, 16), ("over 16", 17, 10_000))


@dataclass(frozen=True, kw_only=True, slots=True)
class Looked:
    """Stretches of one kind, the mean over them."""

    kind: str
    stretches: int
    share_of_steps: float
    never_looked_at: float
    """Share of rollouts in which no look falls into the stretch."""
    decided_before: float
    """Share of its actions that a look before it decides."""


def decided_before(length: int, every: int) -> float:
    """Share of a stretch's actions that are decided before it, over all offsets of the looks."""
    return float(np.mean([min(length, offset) / length for offset in range(every)]))


def never_looked_at(length: int, every: int) -> float:
    """Share of offsets at which no look falls into a stretch."""
    return max(0.0, 1 - length / every)


def measure(lengths: Sequence[int], every: int) -> Iterator[Looked]:
    """By length of a stretch, shortest first, then all."""
    total = sum(lengths)
    for kind, low, high in (*KINDS, ("all", 1, KINDS[-1][2])):
        mine = [one for one in lengths if low <= one <= high]
        if not mine:
            continue
        before = sum(one * decided_before(one, every) for one in mine) / sum(mine)
        yield Looked(
            kind=kind,
            stretches=len(mine),
            share_of_steps=sum(mine) / total,
            never_looked_at=float(np.mean([never_looked_at(one, every) for one in mine])),
            decided_before=before,
        )


def stretches(task_list: str) -> list[int]:
    """Steps of every phase but the first of every demonstration: nothing comes before that."""
    run = preset("metaworld-10")
    suite = MetaWorld(task_list=task_list)
    found: list[int] = []
    for task in suite.tasks():
        for one in run.segmenter_of(task.name).segment(suite.demos(task, "train")):
            found += [phase.stop - phase.start for phase in one.phases[1:]]
    return found


def table(rows: Sequence[Looked]) -> Iterator[str]:
    yield "| phase of | phases | share of steps | not looked at | actions decided before it |"
    yield "|---|---:|---:|---:|---:|"
    for one in rows:
        shares = (one.share_of_steps, one.never_looked_at, one.decided_before)
        yield (
            f"| {one.kind} | {one.stretches} | "
            + " | ".join(f"{100 * share:.0f} %" for share in shares)
            + " |"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task-list", default="metaworld-learnable")
    parser.add_argument("--actions-per-look", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = list(measure(stretches(options.task_list), options.actions_per_look))
    print(json.dumps([asdict(one) for one in rows]) if options.json else "\n".join(table(rows)))


if __name__ == "__main__":
    main()
