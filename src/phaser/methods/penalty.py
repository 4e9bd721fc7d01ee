"""The port of the penalty: what a step changes in loss or gradient so that tasks stay learnt.

A rule is asked twice per task. `for_task` gives the penalty under which the task is learnt;
`after_task` gives what the tasks so far leave for the rule: tensors, which the run writes to disk.
Torch is imported by what trains, not by what lists methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jaxtyping import Float

from phaser.core.demonstration import FrameRef
from phaser.core.policy import TrainablePolicy
from phaser.core.ports import Frames
from phaser.core.samples import SampleRows
from phaser.core.streams import Stream

if TYPE_CHECKING:
    from torch import Tensor as Tensor
else:
    Tensor = Any

RuleState = Mapping[str, Tensor]
"""What all tasks so far left for a rule; empty before the first is finished."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TrainingStep:
    """One step after its forward pass. Rehearsed frames are the first rows of its batch."""

    samples: SampleRows
    """The rows of this process, before the policy made a batch of them."""
    losses: Float[Tensor, "rows"]
    rehearsed: Sequence[FrameRef]
    """The rehearsed frames in the rows of this process."""
    is_rehearsing: bool
    """True where any process has rehearsed frames: all processes must then act alike."""
    backward: Callable[[Tensor], object]
    """Adds the gradient of a loss to the weights, its mean over all processes."""
    mean: Callable[[Tensor], Tensor]
    """The mean of a tensor over all processes."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FinishedTask:
    """A task that was just learnt, and the policy as it is now."""

    task: str
    policy: TrainablePolicy
    rows: Frames
    frames: Sequence[FrameRef]
    """All frames that the task was learnt from."""
    kept: Sequence[FrameRef]
    """The frames that stay in memory."""
    stream: Stream


@runtime_checkable
class Penalty(Protocol):
    """The rule of the steps of one task."""

    def backward(self, step: TrainingStep) -> Float[Tensor, ""]:
        """Leave the step's gradient in the weights; returns the batch's mean loss."""
        ...


@runtime_checkable
class PenaltyRule(Protocol):
    """A penalty with its settings; the third factor of a method."""

    @property
    def needs_policy(self) -> bool:
        """False only for the rule that adds nothing."""
        return True

    @property
    def asks(self) -> frozenset[str]:
        """Optional methods of the policy that the rule cannot do without."""
        return frozenset()

    @property
    def needs_whole_batch(self) -> bool:
        """True where a step's batch cannot pass in parts (`fit.gradient_accumulation`)."""
        return False

    @property
    def reads_gradient(self) -> bool:
        """True where the rule reads or changes the gradient that a pass left in the weights."""
        return False

    def for_task(self, policy: TrainablePolicy, state: RuleState) -> Penalty:
        """The penalty under which the next task is learnt."""
        ...

    def after_task(self, state: RuleState, done: FinishedTask) -> RuleState:
        """What the tasks so far leave, now that one more is learnt."""
        return {}


def trained_weights(policy: TrainablePolicy) -> dict[str, Any]:
    """The weights that training moves, by name; what is frozen is the same for every task."""
    return {name: weight for name, weight in policy.named_parameters() if weight.requires_grad}


def places_of(refs: Sequence[FrameRef]) -> Tensor:
    """Demonstration and frame of each reference, for the state that a task leaves."""
    import torch

    return torch.tensor([(ref.demo, ref.frame) for ref in refs])


def refs_at(task: str, places: Tensor) -> list[FrameRef]:
    """The references that `places_of` was made from."""
    return [FrameRef(task, demo, frame) for demo, frame in places.tolist()]
