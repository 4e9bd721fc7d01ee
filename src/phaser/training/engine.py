"""What makes the steps of a task: a policy and its optimiser as Accelerate prepared them.

In one process and with DDP every process holds all of the optimiser's moments. DeepSpeed's ZeRO
shares them out, reduces gradients on the way back and frees them: its moments are gathered where a
checkpoint is due, so that a checkpoint is the same whatever wrote it. FSDP shares out the weights
too (`training.sharded`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType
from torch import Tensor, nn

from phaser.core.policy import Policy
from phaser.core.sharding import is_fsdp
from phaser.training.checkpoint import take_moments
from phaser.training.fit import Fit
from phaser.training.sharded import sharded_engine

MOMENTS = ("exp_avg", "exp_avg_sq")
"""What AdamW keeps of every weight, beside the number of steps."""


class Engine(Protocol):
    """Makes steps."""

    @property
    def wrapped(self) -> nn.Module:
        """The policy, as it is called in training."""
        ...

    @property
    def optimizer(self) -> Any:
        """Its groups carry the learning rates."""
        ...

    def part(self, *, is_last: bool) -> AbstractContextManager[Any]:
        """Holds the passes of one part of a step; only the last one's gradients are reduced."""
        ...

    def backward(self, loss: Tensor) -> None: ...

    def step(self, gradient_clip: float | None) -> None:
        """Move the weights along the gradient."""
        ...

    def zero_grad(self) -> None: ...

    def whole_weights(self) -> AbstractContextManager[None]:
        """Holds a block in which the policy's trained weights are whole; every process must ask."""
        ...

    def moments(self) -> dict[str, Tensor]:
        """The optimiser's moments, whole; every process must ask."""
        ...

    def let_go(self) -> None:
        """Free what training a task needs and nothing later does; all weights are whole again."""
        ...


def engine_for(accelerator: Accelerator, policy: Policy, optimizer: Any, fit: Fit) -> Engine:
    """Prepare a policy and its optimiser, whose moments may be those of an earlier process."""
    if accelerator.distributed_type is DistributedType.DEEPSPEED:
        return _zero_engine(accelerator, policy, optimizer, fit)
    if is_fsdp() and accelerator.num_processes > 1:
        return sharded_engine(accelerator, policy, optimizer)
    wrapped, optimizer = accelerator.prepare(policy, optimizer)
    return PlainEngine(accelerator=accelerator, wrapped=wrapped, optimizer=optimizer)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PlainEngine:
    """One process, or DDP."""

    accelerator: Accelerator
    wrapped: nn.Module
    optimizer: Any

    def part(self, *, is_last: bool) -> AbstractContextManager[Any]:
        return nullcontext() if is_last else self.accelerator.no_sync(self.wrapped)

    def backward(self, loss: Tensor) -> None:
        self.accelerator.backward(loss)

    def step(self, gradient_clip: float | None) -> None:
        if gradient_clip is not None:
            self.accelerator.clip_grad_norm_(self.wrapped.parameters(), gradient_clip)
        self.optimizer.step()

    def zero_grad(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)

    def whole_weights(self) -> AbstractContextManager[None]:
        return nullcontext()

    def moments(self) -> dict[str, Tensor]:
        return take_moments(self.optimizer)

    def let_go(self) -> None:
        self.optimizer.state.clear()
        if self.accelerator.num_processes > 1:
            # The buckets of a reducer; this also collects garbage, a quarter second per task.
            self.accelerator.free_memory(self.wrapped, self.optimizer)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ZeroEngine:
    """DeepSpeed with ZeRO's stage 1 or 2. It is asked itself and not through Accelerate, which
    makes a step with every backward pass."""

    accelerator: Accelerator
    wrapped: Any
    """A DeepSpeedEngine."""
    optimizer: Any
    """DeepSpeed's, around one AdamW over this process's share of each group."""
    weights: list[nn.Parameter]
    """What is trained, in the order of the whole optimiser."""

    def part(self, *, is_last: bool) -> AbstractContextManager[Any]:
        self.wrapped.set_gradient_accumulation_boundary(is_last)
        return nullcontext()

    def backward(self, loss: Tensor) -> None:
        self.wrapped.backward(loss)

    def step(self, gradient_clip: float | None) -> None:
        # The norm is clipped inside, as the engine was configured.
        self.wrapped.step()

    def zero_grad(self) -> None:
        """A step frees the gradients already."""

    def whole_weights(self) -> AbstractContextManager[None]:
        return nullcontext()

    def moments(self) -> dict[str, Tensor]:
        from deepspeed.utils import safe_get_full_optimizer_state

        found: dict[str, Tensor] = {}
        (step, *_) = [state["step"] for state in self.optimizer.optimizer.state.values()]
        for number, weight in enumerate(self.weights):
            found[f"{number}/step"] = step.to("cpu", copy=True)
            for name in MOMENTS:
                found[f"{number}/{name}"] = safe_get_full_optimizer_state(weight, name).cpu()
        return found

    def put(self, moments: Mapping[str, Tensor]) -> None:
        """Take this process's share of whole moments; without any, begin with zeros."""
        from deepspeed.utils import safe_set_full_optimizer_state

        step = moments.get("0/step", torch.zeros(()))
        for share in self.optimizer.single_partition_of_fp32_groups:
            self.optimizer.optimizer.state[share] = {
                "step": step.to(share.device, copy=True),
                **{name: torch.zeros_like(share) for name in MOMENTS},
            }
        # Left alone, DeepSpeed does this when only the first group has moments.
        self.optimizer._lazy_init_hp_params_optimizer_state()
        for number, weight in enumerate(self.weights):
            for name in MOMENTS:
                if (value := moments.get(f"{number}/{name}")) is not None:
                    safe_set_full_optimizer_state(weight, value.to(weight.device), name)

    def let_go(self) -> None:
        self.optimizer.optimizer.state.clear()
        # Also takes the reducing hooks from the weights: the next task has an engine of its own.
        self.accelerator.free_memory(self.wrapped, self.optimizer)


def _zero_engine(accelerator: Accelerator, policy: Policy, optimizer: Any, fit: Fit) -> ZeroEngine:
    moments = take_moments(optimizer)
    optimizer.state.clear()
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    rows = fit.batch_size // accelerator.num_processes // fit.gradient_accumulation
    config = accelerator.deepspeed_plugin.deepspeed_config
    zero = config["zero_optimization"]
    if zero.get("reduce_bucket_size", "auto") == "auto":
        # DeepSpeed's own default is a buffer of 2 GB, more than all that LoRA trains.
        zero["reduce_bucket_size"] = sum(weight.numel() for weight in weights)
    config |= {
        "train_micro_batch_size_per_gpu": rows,
        # Parts of a step are counted by the learner.
        "gradient_accumulation_steps": 1,
        "train_batch_size": rows * accelerator.num_processes,
        "gradient_clipping": fit.gradient_clip or 0.0,
    }
    wrapped, prepared = accelerator.prepare(policy, optimizer)
    made = ZeroEngine(
        accelerator=accelerator, wrapped=wrapped, optimizer=prepared.optimizer, weights=weights
    )
    made.put(moments)
    return made
