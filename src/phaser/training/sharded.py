"""FSDP: while a task is trained every process holds a share of every weight, also of the base.

Torch's `fully_shard` is asked itself: Accelerate leaves it out on a CPU, and would leave weights
shared out between tasks, when rollouts, probes and rules ask the policy. So the steps of a task are
made by a twin of the policy. The twin's weights are shared out and the policy's own are empty until
the task is done; a checkpoint is given whole weights and moments, so it is the same whatever wrote
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from phaser.core.errors import BadInput
from phaser.core.policy import Policy
from phaser.core.sharding import keeps_gathered
from phaser.training.checkpoint import put_moments, take_moments


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ShardedEngine:
    """Every process makes its part of a step with weights that are gathered layer by layer."""

    accelerator: Accelerator
    wrapped: Any
    """The twin: an FSDPModule."""
    optimizer: Any
    """Over this process's shares."""
    weights: Mapping[str, nn.Parameter]
    """The policy's own, by name; empty while the task is trained."""

    def part(self, *, is_last: bool) -> AbstractContextManager[Any]:
        self.wrapped.set_requires_gradient_sync(is_last)
        return nullcontext()

    def backward(self, loss: Tensor) -> None:
        self.accelerator.backward(loss)

    def step(self, gradient_clip: float | None) -> None:
        if gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.wrapped.parameters(), gradient_clip)
        self.optimizer.step()

    def zero_grad(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)

    @contextmanager
    def whole_weights(self) -> Iterator[None]:
        trained = [name for name, weight in self.weights.items() if weight.requires_grad]
        self._fill(trained)
        try:
            yield
        finally:
            for name in trained:
                _empty(self.weights[name])

    def moments(self) -> dict[str, Tensor]:
        return {name: _whole(value) for name, value in take_moments(self.optimizer).items()}

    def let_go(self) -> None:
        self.optimizer.state.clear()
        self._fill(list(self.weights))
        self.accelerator.free_memory()

    def _fill(self, names: list[str]) -> None:
        """Gather these weights for the policy, in the same order in every process."""
        shares = dict(self.wrapped.named_parameters())
        for name in names:
            self.weights[name].data = _whole(shares[name].detach())


def sharded_engine(accelerator: Accelerator, policy: Policy, optimizer: Any) -> ShardedEngine:
    """Move a policy's weights, and an optimiser's moments of them, to a twin that shares them out.

    accelerator: of a run in several processes, all of which have the same weights.
    """
    weights = dict(policy.named_parameters())
    _check_shapes(weights)
    device = next(iter(weights.values())).device
    mesh = init_device_mesh(device.type, (accelerator.num_processes,))
    twin = _shared_out(cast(nn.Module, policy), mesh)
    shares = dict(twin.named_parameters())
    moments, names = take_moments(optimizer), {weight: name for name, weight in weights.items()}
    optimizer.state.clear()
    for group in optimizer.param_groups:
        group["params"] = [shares[names[weight]] for weight in group["params"]]
    put_moments(optimizer, {name: _share(value, mesh) for name, value in moments.items()})
    return ShardedEngine(
        accelerator=accelerator, wrapped=twin, optimizer=optimizer, weights=weights
    )


def _shared_out(policy: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """A twin of the policy that takes the weights over, one layer at a time, so that no more than
    one layer is there twice."""
    from torch.distributed.fsdp import fully_shard

    # Weights and buffers are the policy's own, not copies.
    own = {id(value): value.detach() for value in policy.buffers()}
    own |= {
        id(value): nn.Parameter(value.detach(), requires_grad=value.requires_grad)
        for value in policy.parameters()
    }
    twin = deepcopy(policy, own)
    # The policy itself comes last: it takes what is in no layer.
    wholes, shares = ([*_layers(module), module] for module in (policy, twin))
    for whole, share in zip(wholes, shares, strict=True):
        fully_shard(share, mesh=mesh, reshard_after_forward=False if keeps_gathered() else None)
        for weight in whole.parameters():
            _empty(weight)
    return twin


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    """The outermost entries of lists of modules: what is gathered together."""
    for child in module.children():
        is_called = not isinstance(child, (nn.ModuleList, nn.ModuleDict))
        has_weights = next(child.parameters(), None) is not None
        if isinstance(module, nn.ModuleList) and is_called and has_weights:
            yield child
        else:
            yield from _layers(child)


def _check_shapes(weights: Mapping[str, nn.Parameter]) -> None:
    for name, weight in weights.items():
        if not weight.dim():
            raise BadInput(
                f"the policy's weight {name} is a single number, which FSDP cannot share out; "
                "make it a tensor of one element, or train with multi-GPU (DDP)"
            )


def _share(value: Tensor, mesh: DeviceMesh) -> Tensor:
    """This process's share of a whole moment; the number of steps is everybody's."""
    from torch.distributed.tensor import Shard, distribute_tensor

    if not value.dim():
        return value
    shared: Tensor = distribute_tensor(value, mesh, [Shard(0)], src_data_rank=None)
    return shared


def _whole(value: Tensor) -> Tensor:
    from torch.distributed.tensor import DTensor

    return value.full_tensor() if isinstance(value, DTensor) else value


def _empty(weight: nn.Parameter) -> None:
    weight.data = torch.empty(0, dtype=weight.dtype, device=weight.device)
