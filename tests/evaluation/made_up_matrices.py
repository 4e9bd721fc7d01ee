"""Success matrices with made-up counts: one final row, ten or as many initial states as wanted."""

from __future__ import annotations

from collections.abc import Sequence

from phaser.evaluation.matrix import Cell, SuccessMatrix


def matrix(tasks: Sequence[str], counts: Sequence[int], *, trials: int = 10) -> SuccessMatrix:
    """The final row of a run."""
    states = tuple(range(trials))
    return SuccessMatrix(
        tasks=tuple(tasks),
        cells={
            (tasks[-1], task): Cell(successes=count, env_seeds=states)
            for task, count in zip(tasks, counts, strict=True)
        },
    )
