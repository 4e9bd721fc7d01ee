"""The policy, its frames and its optimiser, behind the three calls that a stream needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from accelerate import Accelerator
from jaxtyping import Float

from phaser.core.demonstration import FrameRef
from phaser.core.memory import PreparedTask
from phaser.core.ports import Sampler
from phaser.core.streams import Streams
from phaser.policies.tiny import TinyPolicy
from phaser.training.checkpoint import Keeper
from phaser.training.fit import Fit, Progress
from phaser.training.frames import FrameTable

PROBE_BATCH = 256


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PolicyLearner:
    """Trains one policy in place."""

    policy: TinyPolicy
    frames: FrameTable
    fit: Fit
    streams: Streams
    accelerator: Accelerator
    progress: Progress | None = None
    keeper: Keeper | None = None

    def learn(self, task: PreparedTask, sampler: Sampler) -> float:
        name = task.task.name
        return self._fit(self.frames.tasks[name].refs(name), sampler, name, steps=None)

    def learn_jointly(self, tasks: Sequence[PreparedTask], sampler: Sampler) -> float:
        """All tasks at once, for as many steps as they would have had one by one."""
        refs = [
            ref for task in tasks for ref in self.frames.tasks[task.task.name].refs(task.task.name)
        ]
        return self._fit(refs, sampler, "all", steps=self.fit.steps_per_task * len(tasks))

    @torch.no_grad()
    def frame_losses(self, refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
        """Loss of single frames under the policy as it is now; its noise is the same every time."""
        self.policy.eval()
        noise = self.streams.named("probe")
        losses = [
            self.policy(self.frames.batch(refs[start : start + PROBE_BATCH]), noise).numpy()
            for start in range(0, len(refs), PROBE_BATCH)
        ]
        return np.concatenate(losses) if losses else np.zeros(0, np.float32)

    def _fit(
        self, refs: Sequence[FrameRef], sampler: Sampler, name: str, *, steps: int | None
    ) -> float:
        return self.fit(
            self.policy,
            current=refs,
            sampler=sampler,
            frames=self.frames,
            streams=self.streams,
            name=name,
            accelerator=self.accelerator,
            num_steps=steps,
            progress=self.progress,
            keeper=self.keeper,
        )
