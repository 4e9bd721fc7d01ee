"""One task's learner: half current, half rehearsed frames per batch, AdamW, cosine at the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
from accelerate import Accelerator
from jaxtyping import Float
from torch import Tensor

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.ports import MeasuringSampler, Sampler
from phaser.core.streams import Stream, Streams
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import Penalised, Penalty, TrainingStep
from phaser.training.batch import Batch
from phaser.training.checkpoint import Keeper, Steps, Weights
from phaser.training.frames import FrameTable

Progress = Callable[[int, int, float], None]
"""Called with (steps done, steps in all, loss)."""

NO_PENALTY = NoPenalty()


class Trainable(Weights, Penalised, Protocol):
    """What the learner asks of a policy, beside being a torch module."""

    def __call__(self, batch: Batch, noise: Stream) -> Float[Tensor, "batch"]: ...

    def parameters(self) -> Iterator[torch.nn.Parameter]: ...

    def train(self, mode: bool = True) -> object: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """How one task is learnt. The batch of a step depends on (seed, task, step) alone."""

    steps_per_task: int = 300
    batch_size: int = 64
    rehearsed_share: float = 0.5
    """Share of a batch that comes from memory, once there is one."""
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    decay_after: float = 0.5
    """Constant learning rate up to this share of the steps, cosine to zero after it."""
    checkpoint_every_steps: int = 100
    """How much of a task a killed run may lose; changes nothing else."""

    def __post_init__(self) -> None:
        if min(self.steps_per_task, self.batch_size, self.checkpoint_every_steps) < 1:
            raise BadInput(
                f"steps_per_task {self.steps_per_task}, batch_size {self.batch_size}, "
                f"checkpoint_every_steps {self.checkpoint_every_steps}; each must be at least 1"
            )
        if not 0 <= self.rehearsed_share < 1:
            raise BadInput(f"rehearsed_share {self.rehearsed_share}; expected 0 or more, below 1")

    def __call__(
        self,
        policy: Trainable,
        *,
        current: Sequence[FrameRef],
        sampler: Sampler,
        penalty: Penalty = NO_PENALTY,
        frames: FrameTable,
        streams: Streams,
        name: str,
        accelerator: Accelerator,
        num_steps: int | None = None,
        progress: Progress | None = None,
        keeper: Keeper | None = None,
    ) -> float:
        """Train in place, from where the keeper was left; mean loss of the last tenth of steps."""
        steps = num_steps or self.steps_per_task
        wrapped, optimizer = accelerator.prepare(policy, self._optimizer(policy))
        wrapped.train()
        noise, now = streams.named("noise", name), {ref.task for ref in current}
        done = Steps() if keeper is None else keeper.restore(policy, optimizer)
        measuring = sampler if isinstance(sampler, MeasuringSampler) else None
        if measuring is not None:
            done = done.measured_by(measuring)
        for step in range(len(done), steps):
            refs = self.refs_of_step(step, current, sampler, streams.named("current", name))
            # By hand: Accelerate's schedulers step once per process, which would change the curve.
            for group in optimizer.param_groups:
                group["lr"] = self.learning_rate * self._rate(step, steps)
            batch = frames.batch(_of_this_process(refs, accelerator))
            losses = wrapped(batch, Stream(noise.key + step))
            loss = penalty.backward(_seen(batch, losses, refs, now, accelerator))
            optimizer.step()
            if measuring is not None and step + 1 < steps:
                measuring.after_step(step)
            optimizer.zero_grad(set_to_none=True)
            done.add(float(loss.detach()), refs)
            if progress is not None:
                progress(step + 1, steps, done.losses[-1])
            is_due = (step + 1) % self.checkpoint_every_steps == 0 or step + 1 == steps
            if keeper is not None and is_due:
                keeper.save(policy, optimizer, done)
        # The moments go now; free_memory would also collect garbage, a quarter second per task.
        optimizer.state.clear()
        tail = done.losses[-max(1, steps // 10) :]
        return sum(tail) / len(tail)

    def refs_of_step(
        self, step: int, current: Sequence[FrameRef], sampler: Sampler, stream: Stream
    ) -> list[FrameRef]:
        """The global batch of one step: rehearsed frames first, the rest from the current task."""
        rehearsed = sampler.next(self.num_rehearsed, step)
        return [*rehearsed, *self.current_of_step(step, current, stream, len(rehearsed))]

    def current_of_step(
        self, step: int, current: Sequence[FrameRef], stream: Stream, num_rehearsed: int
    ) -> list[FrameRef]:
        """What a step learns of the current task: does not depend on which frames it rehearses."""
        chosen = stream.at_step(step).integers(len(current), size=self.batch_size - num_rehearsed)
        return [current[k] for k in chosen]

    @property
    def num_rehearsed(self) -> int:
        """Rehearsed frames of a batch, once there is a memory."""
        return round(self.batch_size * self.rehearsed_share)

    def _optimizer(self, policy: Trainable) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            policy.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay, fused=True
        )

    def _rate(self, step: int, steps: int) -> float:
        start = self.decay_after * steps
        if step <= start:
            return 1.0
        return 0.5 * (1 + math.cos(math.pi * (step - start) / (steps - start)))


def _seen(
    batch: Batch,
    losses: Float[Tensor, "batch"],
    refs: Sequence[FrameRef],
    current_tasks: Collection[str],
    accelerator: Accelerator,
) -> TrainingStep:
    """A step as its penalty sees it; `refs` is the global batch."""
    mine = _of_this_process(refs, accelerator)
    return TrainingStep(
        batch=batch,
        losses=losses,
        rehearsed=[ref for ref in mine if ref.task not in current_tasks],
        is_rehearsing=refs[0].task not in current_tasks,
        backward=accelerator.backward,
        mean=partial(accelerator.reduce, reduction="mean"),
    )


def _of_this_process(refs: Sequence[FrameRef], accelerator: Accelerator) -> Sequence[FrameRef]:
    return refs[accelerator.process_index :: accelerator.num_processes]
