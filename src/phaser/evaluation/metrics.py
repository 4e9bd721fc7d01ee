"""What is left at the end and what was lost on the way (paper, evaluation metrics).

With R[j, i] the success rate on task i after training on task j, and N tasks: the definitions are
`DEFINITIONS`, which reports print. Papers use one name for several things; ours are the paper's,
and LIBERO's beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from phaser.evaluation.matrix import SuccessMatrix

DEFINITIONS = (
    ("ASR", "average success rate after the last task: mean over all i of R[N, i]; higher is "
     "better."),
    ("NBT", "negative backward transfer, as the paper has it: mean over i < N of R[i, i] − R[N, i]"
     ", the points lost between learning a task and the end; 0 is best. Low with a low ASR means "
     "that little was learnt, so read plasticity beside it."),
    ("BWT", "backward transfer (Lopez-Paz and Ranzato): −NBT."),
    ("Forgetting", "(Chaudhry et al.) mean over i < N of the largest R[j, i] measured at a "
     "stage j < N, minus R[N, i]."),
    ("Plasticity", "mean over all i of R[i, i]: success on each task just after learning it."),
    ("FWT", "forward transfer: mean over i > 1 of R[i − 1, i], success on a task before it is "
     "learnt (an untrained policy has 0). Only where such rollouts were made."),
    ("LIBERO NBT", "mean over i < N of the mean over all later stages j of R[i, i] − R[j, i]: not "
     "the last stage alone. Needs every stage."),
    ("LIBERO AUC", "mean over all i of the mean over the stages j ≥ i of R[j, i]: area under the "
     "curves below. LIBERO also averages checkpoints while a task is learnt; here its end counts. "
     "Needs every stage."),
)  # fmt: skip
"""Name and meaning of every metric, in the order of a report."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metrics:
    """All metrics as fractions; `None` where a joint run or a single task has no such thing."""

    average_success_rate: float
    negative_backward_transfer: float | None
    forgetting: float | None
    plasticity: float | None
    forward_transfer: float | None
    """None where no task was tried before it was learnt."""
    libero_nbt: float | None
    """None where a stage was not evaluated; so is the area."""
    libero_auc: float | None
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
            forward_transfer=None,
            libero_nbt=None,
            libero_auc=None,
            complete=True,
        )
    diagonal = {task: matrix.learnt(task).rate for task in tasks}
    earlier = tasks[:-1]
    complete = all(
        matrix.has(after, task) for j, after in enumerate(tasks) for task in tasks[: j + 1]
    )
    return Metrics(
        average_success_rate=asr,
        negative_backward_transfer=_mean_or_none(
            [diagonal[task] - matrix.final(task).rate for task in earlier]
        ),
        forgetting=_mean_or_none(
            [_best_before_the_end(matrix, task) - matrix.final(task).rate for task in earlier]
        ),
        plasticity=mean(list(diagonal.values())),
        forward_transfer=_mean_or_none(
            [
                matrix.cell(before, task).rate
                for before, task in pairwise(tasks)
                if matrix.has(before, task)
            ]
        ),
        libero_nbt=_mean_or_none(
            [
                diagonal[task] - mean(_since(matrix, task)[1:])
                for task in (earlier if complete else ())
            ]
        ),
        libero_auc=mean([mean(_since(matrix, task)) for task in tasks]) if complete else None,
        complete=complete,
    )


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """The mean of the values that exist; `None` when none does."""
    return _mean_or_none([value for value in values if value is not None])


def _mean_or_none(values: Sequence[float]) -> float | None:
    return mean(values) if values else None


def _since(matrix: SuccessMatrix, task: str) -> list[float]:
    """Success on a task at every stage since it was learnt."""
    stages = matrix.tasks[matrix.tasks.index(task) :]
    return [matrix.cell(after, task).rate for after in stages]


def _best_before_the_end(matrix: SuccessMatrix, task: str) -> float:
    rows = [after for after in matrix.tasks[:-1] if matrix.has(after, task)]
    return max(matrix.cell(after, task).rate for after in rows)
