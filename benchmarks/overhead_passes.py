"""How many frames each method sends through a policy, and back, per step and per transition.

The shipped rules and the shipped learner run on a policy that computes nothing and counts: what is
counted is what the code does, for every method of the table, also for one added tomorrow.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.bare_policy import BarePolicy
from benchmarks.overhead_cases import Case, Stream
from benchmarks.overhead_memory import held_bytes, most_bytes
from phaser.core import streams
from phaser.core.demonstration import Demo
from phaser.methods.method import Method
from phaser.policies.tiny.policy import TinyBatch
from phaser.testing.made_up import made_up_task
from phaser.training.fit import Fit
from phaser.training.frames import TaskFrames

Counts = Mapping[tuple[str, str], float]
"""Frames by what was asked ("loss", "features", "outputs") and direction ("forward", …)."""

PAST_TASKS = 9
COUNTED_STEPS = 400
"""Steps that are counted of a longer task: a multiple of every refresh in one of 10,000 steps, so
that a mean over them is a mean over the task."""
SIZES = (100_000, 200_000)
"""Trained weights of two counting policies: the difference tells what grows with them."""
NUM_PIECES = 40


class _Watched(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, counted: Counter, asked: str) -> Tensor:
        ctx.counted, ctx.asked = counted, asked
        return rows.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        ctx.counted[ctx.asked, "backward"] += len(gradients[0])
        return gradients[0], None, None


class CountingPolicy(BarePolicy):
    """Its loss is its mean weight, or minus that: the two signs make tasks conflict."""

    def __init__(self, num_weights: int) -> None:
        super().__init__()
        # In pieces, as in a real policy: what is held of one piece at a time should not count.
        pieces = torch.zeros(num_weights).chunk(NUM_PIECES)
        self.pieces = nn.ParameterList(nn.Parameter(piece.clone()) for piece in pieces)
        self.num_weights = num_weights
        self.counted: Counter[tuple[str, str]] = Counter()

    def words(self, instruction: str) -> Tensor:
        """An instruction is a number."""
        return torch.tensor([float(instruction)])

    def forward(self, batch: TinyBatch, noise: streams.Stream) -> Tensor:
        return self._asked("loss", batch.language[:, 0])

    def features(self, batch: TinyBatch) -> Tensor:
        return self._asked("features", batch.language)

    def outputs(self, batch: TinyBatch) -> Tensor:
        return self._asked("outputs", batch.actions)

    def __deepcopy__(self, memo: object) -> "CountingPolicy":
        return CountingPolicy(self.num_weights)

    def _asked(self, what: str, like: Tensor) -> Tensor:
        self.counted[what, "forward"] += len(like)
        mean = torch.stack([piece.mean() for piece in self.pieces]).mean()
        rows: Tensor = _Watched.apply(mean * like, self.counted, what)
        return rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """What one method does, whatever the policy."""

    per_step: Counts
    """Frames, the mean over a task's steps, measuring included."""
    per_transition: Counts
    kept_bytes: float
    """Left for the penalty, apart from what grows with the weights."""
    kept_per_weight: float
    """Bytes left for the penalty per trained weight of 4 bytes."""
    peak_per_weight: float
    """Bytes held at once beyond er's, per trained weight; activations are not in it."""


def counted(
    methods: Mapping[str, Method], *, batch_size: int, steps_per_task: int
) -> dict[str, Counted]:
    """All methods, beside er."""
    made = stream()
    fit = Fit(steps_per_task=steps_per_task, batch_size=batch_size)
    cases = {
        name: [Case.of(name, one, made, CountingPolicy(size), fit) for size in SIZES]
        for name, one in methods.items()
    }
    peaks = {name: _slope([most_bytes(case) for case in pair]) for name, pair in cases.items()}
    return {
        name: Counted(
            per_step=_per_step(pair[0]),
            per_transition=_per_transition(pair[0]),
            kept_bytes=_at_zero([held_bytes(case.state) for case in pair]),
            kept_per_weight=_slope([held_bytes(case.state) for case in pair]),
            peak_per_weight=peaks[name] - peaks["er"],
        )
        for name, pair in cases.items()
    }


def stream() -> Stream:
    """Made-up tasks; those learnt before have the opposite sign of the last."""
    names = [f"task {number}" for number in range(PAST_TASKS + 1)]
    tasks = [replace(made_up_task(name), features=_features) for name in names]
    frames = {
        task.task.name: TaskFrames.of(
            task.demos,
            {},
            instruction="1" if task is tasks[-1] else "-1",
            chunk_length=8,
        )
        for task in tasks
    }
    return Stream(tasks=tasks, frames=frames)


def _features(demo: Demo) -> np.ndarray:
    return demo.states


def _per_step(case: Case) -> Counts:
    steps = min(COUNTED_STEPS, case.fit.steps_per_task)
    learn = case.learning(steps=steps)
    case.policy.counted.clear()
    learn()
    return {what: count / steps for what, count in case.policy.counted.items()}


def _per_transition(case: Case) -> Counts:
    transition = case.transition()
    case.policy.counted.clear()
    if transition:
        transition()
    return dict(case.policy.counted)


def _slope(values: Sequence[float]) -> float:
    return (values[1] - values[0]) / (SIZES[1] - SIZES[0])


def _at_zero(values: Sequence[float]) -> float:
    return values[0] - _slope(values) * SIZES[0]
