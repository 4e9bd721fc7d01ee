"""The learner: one policy, its frames and the loop over the steps of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from phaser.core.policy import Batch, Policy
from phaser.core.ports import Sampler
from phaser.core.samples import Samples
from phaser.core.streams import Stream, Streams
from phaser.methods.evaluating import evaluating
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import Penalty, TrainingStep
from phaser.training.ahead import made_ahead
from phaser.training.checkpoint import Checkpointer, Steps, put_moments
from phaser.training.engine import Engine, engine_for
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
        fit.check_split(self.accelerator.num_processes)
        optimizer = fit.optimizer(policy)
        put_moments(optimizer, moments)
        noise, checkpointer = self.streams.named("noise", name), self.checkpointer
        done = Steps() if checkpointer is None else checkpointer.restore(policy, optimizer)
        done = done.measured_by(sampler)
        engine = engine_for(self.accelerator, policy, optimizer, fit)
        engine.wrapped.train()
        # What a draw that asks the policy draws next depends on the step that is being made.
        ahead = 0 if sampler.measured is not None else fit.read_ahead
        make = partial(self._inputs, current, sampler, name)
        with made_ahead(make, range(len(done), steps), ahead=ahead) as inputs:
            for step, (refs, parts) in inputs:
                fit.set_rate(engine.optimizer, step, steps)
                loss = self._gradient(engine, parts, penalty, Stream(noise.key + step))
                engine.step(fit.gradient_clip)
                if fit.averages(step, steps):
                    with engine.whole_weights():
                        done.average.add(policy)
                if step + 1 < steps:
                    sampler.after_step(step)
                engine.zero_grad()
                done.add(loss, refs)
                if self.progress is not None:
                    self.progress(step + 1, steps, done.losses[-1])
                is_due = (step + 1) % fit.checkpoint_every_steps == 0 or step + 1 == steps
                if checkpointer is not None and is_due:
                    with engine.whole_weights():
                        checkpointer.save(policy, engine.moments(), done)
        left = engine.moments() if fit.keep_moments else NO_MOMENTS
        engine.let_go()
        done.average.apply(policy)
        tail = done.losses[-max(1, steps // 10) :]
        return Learnt(loss=sum(tail) / len(tail), moments=left)

    def _inputs(
        self, current: Sequence[FrameRef], sampler: Sampler, name: str, step: int
    ) -> tuple[list[FrameRef], list[_Part]]:
        """The global batch of a step, and what this process passes of it, ready for a pass."""
        drawn_from, now = self.streams.named("current", name), {ref.task for ref in current}
        augment = Stream(self.streams.named("augment", name).key + step)
        refs = self.fit.refs_of_step(step, current, sampler, drawn_from)
        places, count = self.own(range(len(refs))), self.fit.gradient_accumulation
        parts = []
        for part in (places[first::count] for first in range(count)):
            samples = self.samples_at(part, refs)
            parts.append(
                _Part(
                    samples=samples,
                    batch=self.policy.batch(samples, augment=augment),
                    rehearsed=[refs[place] for place in part if refs[place].task not in now],
                    is_rehearsing=refs[0].task not in now,
                )
            )
        return refs, parts

    def _gradient(
        self, engine: Engine, parts: Sequence[_Part], penalty: Penalty, noise: Stream
    ) -> float:
        """Leave the gradient of a step in the weights; returns the mean loss of its batch."""
        accelerator, total = self.accelerator, 0.0

        def backward(loss: Tensor) -> None:
            engine.backward(loss if len(parts) == 1 else loss / len(parts))

        for number, part in enumerate(parts, 1):
            with engine.part(is_last=number == len(parts)):
                loss = penalty.backward(
                    TrainingStep(
                        samples=part.samples,
                        losses=engine.wrapped(part.batch, noise),
                        rehearsed=part.rehearsed,
                        is_rehearsing=part.is_rehearsing,
                        backward=backward,
                        mean=partial(accelerator.reduce, reduction="mean"),
                    )
                ).detach()
            if accelerator.num_processes > 1:
                loss = accelerator.reduce(loss, reduction="mean")
            total += float(loss) / len(parts)
        return total

    def samples_at(self, places: Sequence[int], refs: Sequence[FrameRef]) -> Samples:
        """Some rows of a global batch, which keep their places in it: noise belongs to those."""
        samples = self.frames.samples([refs[place] for place in places])
        if len(places) == len(refs):
            return samples
        return replace(samples, places=np.array(places, np.int64), num_places=len(refs))

    def own(self, rows: Sequence[Row]) -> list[Row]:
        """This process's part of what all processes have."""
        return list(rows[self.accelerator.process_index :: self.accelerator.num_processes])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Part:
    """Rows that pass together; rehearsed frames are the first ones."""

    samples: Samples
    batch: Batch
    rehearsed: Sequence[FrameRef]
    is_rehearsing: bool
    """True where any process has rehearsed frames in this step."""
