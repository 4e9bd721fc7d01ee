"""The port of rehearsing: how a drawn frame is rehearsed, as it was stored or in another form.

A rule stands between the draw and the training step. `for_task` may put a sampler of its own
around the drawn one; `after_task` gives what the tasks so far leave for the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from phaser.core.demonstration import FrameRef
from phaser.core.memory import Memory, PreparedTask
from phaser.core.policy import Policy
from phaser.core.ports import ImaginedFrames, Sampler
from phaser.core.streams import Stream
from phaser.methods.penalty import FinishedTask, RuleState


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BegunTask:
    """A task that is about to be learnt, and the policy as it is before."""

    task: PreparedTask
    policy: Policy
    memory: Memory
    """What the tasks before it left."""
    frames: Sequence[FrameRef]
    """All frames that the task will be learnt from."""
    rows: ImaginedFrames
    stream: Stream


@runtime_checkable
class RehearseRule(Protocol):
    """How drawn frames are rehearsed, with its settings; a factor of a method."""

    @property
    def needs_policy(self) -> bool:
        """False for a rule that never asks the policy."""
        return True

    @property
    def asks(self) -> frozenset[str]:
        """Optional methods of the policy that the rule cannot do without."""
        return frozenset()

    def for_task(self, sampler: Sampler, state: RuleState, begun: BegunTask) -> Sampler:
        """The sampler that training steps use."""
        ...

    def after_task(self, state: RuleState, done: FinishedTask) -> RuleState:
        """What the tasks so far leave, now that one more is learnt."""
        return {}


@dataclass(frozen=True, kw_only=True, slots=True)
class AsStored(RehearseRule):
    """Every drawn frame is rehearsed as it was stored."""

    @property
    def needs_policy(self) -> bool:
        return False

    def for_task(self, sampler: Sampler, state: RuleState, begun: BegunTask) -> Sampler:
        return sampler
