"""What is left at the end and what was lost on the way (paper, evaluation metrics).

With R[j, i] the success rate on task i after training on task j, and N tasks:

- ASR, average success rate: mean over i of R[N, i].
- NBT, negative backward transfer: mean over i < N of R[i, i] - R[N, i]; 0 means nothing forgotten.
- BWT, backward transfer (Lopez-Paz and Ranzato): -NBT.
- Forgetting (Chaudhry et al.): mean over i < N of the largest measured R[j, i] with j < N, minus
  R[N, i].
- Plasticity: mean over i of R[i, i], what the method could still learn when the task came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaser.evaluation.matrix import SuccessMatrix


@dataclass(frozen=True, kw_only=True, slots=True)
class Metrics:
    """All metrics as fractions; `None` where a joint run or a single task has no such thing."""

    average_success_rate: float
    negative_backward_transfer: float | None
    forgetting: float | None
    plasticity: float | None
    complete: bool
    """Every cell at and below the diagonal was measured; else forgetting is a lower bound."""

    @property
    def backward_transfer(self) -> float | None:
        loss = self.negative_backward_transfer
        return None if loss is None else 0.0 - loss


def continual_metrics(matrix: SuccessMatrix) -> Metrics:
    """All metrics of one run."""
    tasks = matrix.tasks
    asr = mean([matrix.final(task).rate for task in tasks])
    if matrix.is_joint:
        return Metrics(
            average_success_rate=asr,
            negative_backward_transfer=None,
            forgetting=None,
            plasticity=None,
            complete=True,
        )
    diagonal = {task: matrix.learnt(task).rate for task in tasks}
    earlier = tasks[:-1]
    return Metrics(
        average_success_rate=asr,
        negative_backward_transfer=_mean_or_none(
            [diagonal[task] - matrix.final(task).rate for task in earlier]
        ),
        forgetting=_mean_or_none(
            [_best_before_the_end(matrix, task) - matrix.final(task).rate for task in earlier]
        ),
        plasticity=mean(list(diagonal.values())),
        complete=all(
            matrix.has(after, task) for j, after in enumerate(tasks) for task in tasks[: j + 1]
        ),
    )


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """The mean of the values that exist; `None` when none does."""
    return _mean_or_none([value for value in values if value is not None])


def _mean_or_none(values: Sequence[float]) -> float | None:
    return mean(values) if values else None


def _best_before_the_end(matrix: SuccessMatrix, task: str) -> float:
    rows = [after for after in matrix.tasks[:-1] if matrix.has(after, task)]
    return max(matrix.cell(after, task).rate for after in rows)
