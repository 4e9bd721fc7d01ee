"""How sure a difference in boundary F1 is: tasks drawn again and again, the same for both rules."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from benchmarks.boundary_rules import Find
from benchmarks.stage_truth import TaskExamples
from phaser.phases.agreement import matched_boundaries

NUM_DRAWS = 4000


def difference(
    ours: Find, theirs: Find, tasks: Sequence[TaskExamples], kind: str, tolerance: int
) -> dict[str, float]:
    """F1 of `ours` minus F1 of `theirs`, pooled over boundaries, with a 95 % interval."""
    counts = [_counts(find, tasks, kind, tolerance) for find in (ours, theirs)]
    drawn = np.random.default_rng(0).integers(len(tasks), size=(NUM_DRAWS, len(tasks)))
    again = _f1(counts[0][drawn].sum(axis=1)) - _f1(counts[1][drawn].sum(axis=1))
    low, high = np.quantile(again, [0.025, 0.975])
    whole = [float(_f1(one.sum(axis=0)[None])[0]) for one in counts]
    return {"difference": whole[0] - whole[1], "low": float(low), "high": float(high)}


def _counts(
    find: Find, tasks: Sequence[TaskExamples], kind: str, tolerance: int
) -> Float[np.ndarray, "tasks 2"]:
    """Per task: matched boundaries, and found plus true ones."""
    rows = np.zeros((len(tasks), 2))
    for row, task in zip(rows, tasks, strict=True):
        for example in getattr(task, kind):
            found = list(find(example))
            row[0] += len(matched_boundaries(found, example.boundaries, tolerance))
            row[1] += len(found) + len(example.boundaries)
    return rows


def _f1(counts: Float[np.ndarray, "draws 2"]) -> Float[np.ndarray, "draws"]:
    return np.asarray(2 * counts[:, 0] / np.maximum(counts[:, 1], 1))
