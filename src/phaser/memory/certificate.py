"""Proof of the budget: what a memory holds, and that compared methods hold the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from phaser.core.errors import BudgetMismatch
from phaser.core.memory import Bucket, PreparedTask
from phaser.core.ports import Keep
from phaser.memory.allocation import RULE

Row = dict[str, Any]
"""One phase of one task: `task`, `index`, `label`, `frames`, `candidates`, and where known more."""


def phase_rows(task: PreparedTask, buckets: Sequence[Bucket], keep: Keep) -> list[Row]:
    """What each phase of a task offered to the rule and holds; phases without frames appear with 0.

    Only a rule with equal shares lets a phase miss or exceed its own.
    """
    held = {bucket.phase: len(bucket.frames) for bucket in buckets}
    ids = task.phase_ids()
    counts = [held.get(phase, 0) for phase in ids]
    rows: list[Row] = [
        {
            "task": phase.task,
            "index": phase.index,
            "label": phase.label,
            "frames": frames,
            "candidates": candidates,
        }
        for phase, frames, candidates in zip(ids, counts, keep.candidates(task), strict=True)
    ]
    if keep.shares_equally:
        share = sum(counts) // len(counts)
        for row in rows:
            row["share"] = share
            row["shortfall"] = max(0, share - row["frames"])
            row["redistributed"] = max(0, row["frames"] - share)
    return rows


def certificate(rows: Sequence[Row]) -> dict[str, Any]:
    """Frames, and bytes where every row knows them, per phase, per task and in total.

    Ready for `budget.json`. A task that holds no frame appears only in its phases.
    """
    holding = [row for row in rows if row["frames"]]
    knows_bytes = bool(holding) and all("bytes" in row for row in holding)
    return {
        **({"rule": RULE} if any("share" in row for row in rows) else {}),
        **_sums(holding, "frames"),
        **(_sums(holding, "bytes") if knows_bytes else {}),
        "frames_per_phase": [dict(row) for row in rows],
    }


def check_equal(
    certificates: Mapping[str, Mapping[str, Any]],
    tolerance: float = 0.01,
) -> None:
    """Refuse a comparison whose methods hold different numbers of frames of any task.

    `tolerance` is a share of the larger figure (the paper allowed 0.1). Methods that keep no memory
    at all cannot match a budget: leave them out.
    """
    held = {name: one["frames_per_task"] for name, one in certificates.items()}
    for task in sorted({task for amounts in held.values() for task in amounts}):
        of_task = {name: amounts.get(task, 0) for name, amounts in held.items()}
        most, least = max(of_task, key=of_task.__getitem__), min(of_task, key=of_task.__getitem__)
        if of_task[most] - of_task[least] > tolerance * of_task[most]:
            raise BudgetMismatch(
                f"task {task!r}: {most} holds {of_task[most]} frames, {least} holds "
                f"{of_task[least]}; compare methods with the same budget "
                f"(allowed difference: {tolerance:.3g} of the larger)"
            )


def check_within(
    certificates: Mapping[str, Mapping[str, Any]], bytes_per_task: int, tasks: Iterable[str]
) -> None:
    """Refuse memories that hold more encoded bytes of a task than all were given, or none of it.

    Frames are whole, so memories that were filled to the same size differ by part of a frame.
    """
    for name, task in product(certificates, tasks):
        held = certificates[name].get("bytes_per_task", {}).get(task, 0)
        if not 0 < held <= bytes_per_task:
            raise BudgetMismatch(
                f"task {task!r}: {name} holds {held} bytes, given {bytes_per_task}; compare "
                "memories that were filled within the same number of bytes"
            )


def check_total(certificates: Mapping[str, Mapping[str, Any]], amount: int, unit: str) -> None:
    """Refuse memories that hold more than the total that all were given."""
    for name, one in certificates.items():
        held = one.get(f"total_{unit}", 0)
        if held > amount:
            raise BudgetMismatch(
                f"{name} holds {held} {unit}, given {amount} in total; run it again"
            )


def _sums(rows: Sequence[Row], unit: str) -> dict[str, Any]:
    per_task: dict[str, int] = {}
    for row in rows:
        per_task[row["task"]] = per_task.get(row["task"], 0) + row[unit]
    return {f"{unit}_per_task": per_task, f"total_{unit}": sum(per_task.values())}
