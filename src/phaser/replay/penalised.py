"""The policy's part of a task in a user's loop: gradients under the method's penalty, and what the
task leaves for the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.policy import NotOffered
from phaser.core.ports import VirtualStep
from phaser.core.streams import Stream, Streams
from phaser.methods.evaluating import evaluating
from phaser.methods.method import Method
from phaser.methods.penalty import FinishedTask, Penalty, RuleState, TrainingStep
from phaser.replay.loop_policy import LoopPolicy, UserFrames, UserSamples
from phaser.replay.tensors import mean_over_processes
from phaser.training.interference import fresh_gradient, left_gradient, loss_increases

Backward = Callable[[Tensor], object]


def require_policy(method: Method, policy: LoopPolicy | None) -> None:
    """Refuse a method that needs the policy where none, or not enough of it, was given."""
    if not method.needs_policy:
        return
    if method.rehearse.needs_policy:
        raise BadInput(
            f"method {method.name!r} makes frames up from the policy's own inputs, which only "
            "`phaser run` knows; choose another method here"
        )
    if policy is None:
        raise BadInput(
            f"method {method.name!r} needs your policy: pass Replay(…, policy=LoopPolicy(model, "
            "losses=…)), or choose a method that only mixes batches (phaser, er, er-even)"
        )
    for name, rule in method.asks.items():
        if name not in policy.offers:
            raise NotOffered(policy, name, rule=f"{rule} (method {method.name!r})")


@dataclass(kw_only=True, slots=True, eq=False)
class PenalisedTask:
    """One task of a method that needs the policy."""

    method: Method
    policy: LoopPolicy
    state: RuleState
    frames: UserFrames
    streams: Streams
    name: str
    current: Any = None
    """The batch of the loop's current step: a virtual step descends on it."""
    _penalty: Penalty | None = None

    def backward(
        self,
        batch: Any,
        *,
        rehearsed: Sequence[FrameRef],
        samples: Sequence[Any],
        step: int,
        backward: Backward,
    ) -> Tensor:
        """Leave the gradient of a mixed batch in the weights; rehearsed samples are its last."""
        if self._penalty is None:
            self._penalty = self.method.penalty.for_task(self.policy, self.state)
        losses = self.policy(batch, self._noise("noise", step))
        count = len(rehearsed)
        ordered = torch.cat([losses[len(losses) - count :], losses[: len(losses) - count]])
        made = TrainingStep(
            samples=UserSamples(samples),
            losses=ordered,
            rehearsed=rehearsed,
            is_rehearsing=count > 0,
            backward=backward,
            mean=mean_over_processes,
        )
        return self._penalty.backward(made)

    def losses(self, refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
        """Losses of stored frames under the policy as it is."""
        with torch.no_grad(), evaluating(self.policy):
            batch = self.policy.batch(self.frames.samples(refs))
            losses: Tensor = self.policy(batch, self._noise("probe", 0))
        found: Float[np.ndarray, "count"] = losses.double().cpu().numpy()
        return found

    def interference(
        self, refs: Sequence[FrameRef], *, step: int, learning_rate: float, variant: VirtualStep
    ) -> Float[np.ndarray, "count"]:
        """The rise of stored frames' losses in a virtual step on the loop's current batch."""
        policy = self.policy
        with evaluating(policy):
            if variant == "virtual":
                gradient = fresh_gradient(
                    policy, self.current, self._noise("virtual step", step), out_of=None
                )
            else:
                gradient = left_gradient(policy)
            increases = loss_increases(
                policy,
                self.policy.batch(self.frames.samples(refs)),
                self._noise("interference", step),
                gradient=gradient,
                learning_rate=learning_rate,
            )
        return increases.cpu().numpy()

    def after(
        self, *, frames: Sequence[FrameRef], kept: Sequence[FrameRef]
    ) -> Mapping[str, Tensor]:
        """What the tasks so far leave for the penalty, now that this one is learnt."""
        done = FinishedTask(
            task=self.name,
            policy=self.policy,
            rows=self.frames,  # type: ignore[arg-type]
            frames=frames,
            kept=kept,
            stream=self.streams.named("penalty", self.name),
        )
        return self.method.penalty.after_task(self.state, done)

    def _noise(self, name: str, step: int) -> Stream:
        return Stream(self.streams.named(name, self.name).key + step)
