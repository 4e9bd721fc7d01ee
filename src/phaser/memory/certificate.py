"""Proof of the budget: what a memory holds, and that compared methods hold the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from phaser.core.errors import BudgetMismatch
from phaser.core.memory import Memory, PhaseId, PreparedTask
from phaser.memory.frames import frames_of_phase


def certificate(
    memory: Memory, tasks: Sequence[PreparedTask] = (), *, stride: int = 1
) -> dict[str, Any]:
    """Frames per phase, per task and in total, ready for `budget.json`.

    Where the prepared tasks are given, phases without frames appear with 0, and every phase says
    how many candidates it offered after the stride.
    """
    held = {bucket.phase: len(bucket.frames) for bucket in memory.buckets}
    candidates = _candidates(tasks, stride)
    phases = [*held, *(phase for phase in candidates if phase not in held)]
    order = {name: position for position, name in enumerate(memory.frames_per_task())}
    phases.sort(key=lambda phase: (order.get(phase.task, len(order)), phase))
    return {
        "frames_per_task": memory.frames_per_task(),
        "frames_per_phase": [
            {
                "task": phase.task,
                "index": phase.index,
                "label": phase.label,
                "frames": held.get(phase, 0),
                **({"candidates": candidates[phase]} if phase in candidates else {}),
            }
            for phase in phases
        ],
        "total_frames": memory.num_frames,
    }


def check_equal(certificates: Mapping[str, Mapping[str, Any]], tolerance: float = 0.0) -> None:
    """Refuse a comparison whose methods hold different numbers of frames of any task.

    `tolerance` is a share of the larger figure (the paper allows 0.1). A method without any memory
    cannot match a budget and is left out.
    """
    holding = {name: one for name, one in certificates.items() if one["total_frames"] > 0}
    for first, other in combinations(holding, 2):
        left, right = holding[first]["frames_per_task"], holding[other]["frames_per_task"]
        for task in sorted({*left, *right}):
            one, two = left.get(task, 0), right.get(task, 0)
            if abs(one - two) > tolerance * max(one, two):
                raise BudgetMismatch(
                    f"task {task!r}: {first} holds {one} frames, {other} holds {two}; "
                    "compare methods with the same budget"
                )


def _candidates(tasks: Sequence[PreparedTask], stride: int) -> dict[PhaseId, int]:
    return {
        phase: sum(len(frames) for frames in frames_of_phase(task, phase.index, stride=stride))
        for task in tasks
        for phase in task.phase_ids()
    }
