"""The port of the third factor: what a step changes in loss or gradient so that tasks stay learnt.

A rule is asked twice per task. `for_task` gives the penalty under which the task is learnt;
`after_task` says what the tasks so far leave for it: tensors, which the run writes to disk. Torch
is imported by what trains, not by what lists methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jaxtyping import Float

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Sampler
from phaser.core.streams import Stream

if TYPE_CHECKING:
    from torch import Tensor as Tensor
else:
    Tensor = Any

Left = Mapping[str, Tensor]
"""What all tasks so far left for a rule; empty before the first is finished."""


@runtime_checkable
class Penalised(Protocol):
    """A policy, as far as every penalty needs it: one loss per sample, and its weights."""

    def __call__(self, batch: Any, noise: Stream) -> Float[Tensor, "batch"]: ...

    def named_parameters(self) -> Iterator[tuple[str, Any]]: ...

    def eval(self) -> object: ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TrainingStep:
    """One step after its forward pass. Rehearsed frames are the first rows of its batch."""

    batch: Any
    losses: Float[Tensor, "batch"]
    rehearsed: Sequence[FrameRef]
    """Those in the rows of this process."""
    is_rehearsing: bool
    """Whether any process has some: what all processes must do alike hangs on this."""
    backward: Callable[[Tensor], object]
    """Adds the gradient of a loss to the weights, its mean over all processes."""
    mean: Callable[[Tensor], Tensor]
    """Of a tensor over all processes."""


@runtime_checkable
class Rows(Protocol):
    """All frames that a run can be trained on."""

    def __contains__(self, task: str) -> bool: ...

    def batch(self, refs: Sequence[FrameRef]) -> Any:
        """Frames as the policy takes them."""
        ...

    def imagine(self, name: str, batch: Any) -> None:
        """From now on, frames 0, 1, … of a task of that name are the rows of this batch."""
        ...

    def join(self, name: str, parts: Sequence[str]) -> None:
        """From now on, a task of that name has the imagined frames of these, one after another."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FinishedTask:
    """A task that was just learnt, and the policy as it is now."""

    task: str
    policy: Penalised
    rows: Rows
    frames: Sequence[FrameRef]
    """All that the task was learnt from."""
    kept: Sequence[FrameRef]
    """Those that stay in memory."""
    stream: Stream


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BegunTask:
    """A task that is about to be learnt, and the policy as it is before."""

    task: PreparedTask
    policy: Penalised
    memory: Memory
    """Of the tasks before it."""
    frames: Sequence[FrameRef]
    """All that the task will be learnt from."""
    rows: Rows
    stream: Stream


@runtime_checkable
class Imagining(Protocol):
    """A rule that also changes which frames are rehearsed."""

    def imagined(self, sampler: Sampler, left: Left, begun: BegunTask) -> Sampler: ...


@runtime_checkable
class Penalty(Protocol):
    """What the steps of one task go down on."""

    def backward(self, step: TrainingStep) -> Float[Tensor, ""]:
        """Leave the step's gradient in the weights; the mean loss of the batch, for the record."""
        ...


def trained_weights(policy: Penalised) -> dict[str, Any]:
    """The weights that training moves: what is frozen is the same for every task."""
    return {name: weight for name, weight in policy.named_parameters() if weight.requires_grad}


def places_of(refs: Sequence[FrameRef]) -> Tensor:
    """Where frames of one task are, for what the task leaves."""
    import torch

    return torch.tensor([(ref.demo, ref.frame) for ref in refs])


def refs_at(task: str, places: Tensor) -> list[FrameRef]:
    return [FrameRef(task, demo, frame) for demo, frame in places.tolist()]


def required(policy: Penalised, name: str, *, rule: str) -> Callable[[Any], Tensor]:
    """A function of the policy that a rule cannot do without."""
    found: Callable[[Any], Tensor] | None = getattr(policy, name, None)
    if found is None:
        raise BadInput(
            f"{rule} needs {name}(batch) of the policy, which {type(policy).__name__} does not "
            "have; give it that method, or choose a method with another penalty"
        )
    return found


def check_weight(name: str, value: float) -> None:
    if not 0 <= value < float("inf"):
        raise BadInput(f"{name} {value}; expected a finite number of 0 or more")
