"""The learner: one policy, its frames and the loop over the steps of a task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from accelerate import Accelerator
from jaxtyping import Float
from torch import Tensor

from phaser.core.demonstration import FrameRef
from phaser.core.memory import PreparedTask
from phaser.core.policy import Policy
from phaser.core.ports import Sampler
from phaser.core.samples import Samples
from phaser.core.streams import Stream, Streams
from phaser.methods.evaluating import evaluating
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import Penalty, TrainingStep
from phaser.training.checkpoint import Checkpointer, Steps, put_moments, take_moments
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable

Progress = Callable[[int, int, float], None]
"""Called with (steps done, steps in all, loss)."""
Timed = Callable[[str], AbstractContextManager[None]]
"""Notes the time that a block takes under a name."""

Row = TypeVar("Row")

Moments = Mapping[str, Tensor]
"""State of an optimiser by the number of a weight and a name: "0/exp_avg"."""
NO_MOMENTS: Moments = {}

NO_PENALTY = NoPenalty()
PROBE_BATCH = 256
TRAINING, STREAM = "learn_cpu_s", "stream_cpu_s"
"""Names in timing.json: the time of the steps alone, and with drawing, keeping and the penalty at
both ends of a task."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Learnt:
    """The outcome of training on a task."""

    loss: float
    """The mean loss of the last tenth of the steps."""
    moments: Moments
    """The optimiser's moments at the end, where a fit keeps them."""


def untimed(name: str) -> AbstractContextManager[None]:
    """Notes nothing."""
    return nullcontext()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PolicyLearner:
    """Trains one policy in place."""

    policy: Policy
    frames: FrameTable
    fit: Fit
    streams: Streams
    accelerator: Accelerator
    progress: Progress | None = None
    checkpointer: Checkpointer | None = None
    timed: Timed = untimed

    def learn(
        self,
        task: PreparedTask,
        sampler: Sampler,
        penalty: Penalty = NO_PENALTY,
        *,
        moments: Moments = NO_MOMENTS,
    ) -> Learnt:
        """Train on a task, from where its last checkpoint was.

        moments: of the optimiser, from the task before; none where a fit does not keep them.
        """
        name = task.task.name
        refs = self.frames.tasks[name].refs(name)
        steps = self.fit.steps_per_task
        with self.timed(TRAINING):
            return self._train(refs, sampler, penalty, name=name, steps=steps, moments=moments)

    def learn_jointly(self, tasks: Sequence[PreparedTask], sampler: Sampler) -> Learnt:
        """Train on all tasks at once, for as many steps as they would have had one by one."""
        names = [task.task.name for task in tasks]
        refs = [ref for name in names for ref in self.frames.tasks[name].refs(name)]
        steps = self.fit.steps_per_task * len(tasks)
        with self.timed(TRAINING):
            return self._train(refs, sampler, NO_PENALTY, name="all", steps=steps)

    @torch.no_grad()
    def frame_losses(self, refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
        """Loss of single frames under the policy as it is now; its noise is the same every time."""
        policy, noise = self.policy, self.streams.named("probe")
        with evaluating(policy):
            losses = [
                policy(policy.batch(self.frames.samples(refs[start : start + PROBE_BATCH])), noise)
                for start in range(0, len(refs), PROBE_BATCH)
            ]
        # Numpy has no bfloat16.
        return torch.cat(losses).float().cpu().numpy() if losses else np.zeros(0, np.float32)

    def _train(
        self,
        current: Sequence[FrameRef],
        sampler: Sampler,
        penalty: Penalty,
        *,
        name: str,
        steps: int,
        moments: Moments = NO_MOMENTS,
    ) -> Learnt:
        policy, fit = self.policy, self.fit
        optimizer = fit.optimizer(policy)
        put_moments(optimizer, moments)
        wrapped, optimizer = self.accelerator.prepare(policy, optimizer)
        wrapped.train()
        noise, augment = self.streams.named("noise", name), self.streams.named("augment", name)
        drawn_from, now = self.streams.named("current", name), {ref.task for ref in current}
        checkpointer = self.checkpointer
        done = Steps() if checkpointer is None else checkpointer.restore(policy, optimizer)
        done = done.measured_by(sampler)
        for step in range(len(done), steps):
            refs = fit.refs_of_step(step, current, sampler, drawn_from)
            fit.set_rate(optimizer, step, steps)
            samples = self._own_samples(refs)
            batch = policy.batch(samples, augment=Stream(augment.key + step))
            losses = wrapped(batch, Stream(noise.key + step))
            loss = penalty.backward(self._step(samples, losses, refs, now))
            if fit.gradient_clip is not None:
                self.accelerator.clip_grad_norm_(wrapped.parameters(), fit.gradient_clip)
            optimizer.step()
            if fit.averages(step, steps):
                done.average.add(policy)
            if step + 1 < steps:
                sampler.after_step(step)
            optimizer.zero_grad(set_to_none=True)
            done.add(float(loss.detach()), refs)
            if self.progress is not None:
                self.progress(step + 1, steps, done.losses[-1])
            is_due = (step + 1) % fit.checkpoint_every_steps == 0 or step + 1 == steps
            if checkpointer is not None and is_due:
                checkpointer.save(policy, optimizer, done)
        done.average.apply(policy)
        left = take_moments(optimizer) if fit.keep_moments else NO_MOMENTS
        # The moments go now; free_memory would also collect garbage, a quarter second per task.
        optimizer.state.clear()
        tail = done.losses[-max(1, steps // 10) :]
        return Learnt(loss=sum(tail) / len(tail), moments=left)

    def _own_samples(self, refs: Sequence[FrameRef]) -> Samples:
        """This process's rows of the global batch."""
        samples = self.frames.samples(self.own(refs))
        if self.accelerator.num_processes == 1:
            return samples
        places = self.own(range(len(refs)))
        return replace(samples, places=np.array(places, np.int64), num_places=len(refs))

    def own(self, rows: Sequence[Row]) -> list[Row]:
        """This process's part of what all processes have."""
        return list(rows[self.accelerator.process_index :: self.accelerator.num_processes])

    def _step(
        self,
        samples: Samples,
        losses: Float[Tensor, "rows"],
        refs: Sequence[FrameRef],
        current_tasks: Collection[str],
    ) -> TrainingStep:
        """A step as its penalty sees it; `refs` is the global batch."""
        return TrainingStep(
            samples=samples,
            losses=losses,
            rehearsed=[ref for ref in self.own(refs) if ref.task not in current_tasks],
            is_rehearsing=refs[0].task not in current_tasks,
            backward=self.accelerator.backward,
            mean=partial(self.accelerator.reduce, reduction="mean"),
        )
