"""A method is the product of small independent rules: what to keep, to draw, to rehearse and to
penalise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from phaser.core.errors import BadInput
from phaser.core.ports import Draw, Keep, Segmenter
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import PenaltyRule
from phaser.methods.rehearse import AsStored, RehearseRule
from phaser.phases.autopc import AutoPC

DEFAULT_SEGMENTER = AutoPC()


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """How a stream of tasks is learnt without losing the earlier ones."""

    name: str
    """Its name in tables, folders and reports."""
    keep: Keep
    """Chooses the frames that a finished task leaves."""
    draw: Draw
    """Chooses the frames that a step rehearses."""
    rehearse: RehearseRule = field(default_factory=AsStored)
    """Decides in which form a drawn frame is rehearsed: as stored, or changed."""
    penalty: PenaltyRule = field(default_factory=NoPenalty)
    """Changes the loss or the gradient of a step to protect earlier tasks."""
    segmenter: Segmenter = DEFAULT_SEGMENTER
    """Cuts demonstrations into phases; part of the method, because the paper's way of cutting is
    part of what `phaser-paper` means."""
    joint: bool = False
    """All tasks at once instead of in a row: the upper bound, not a continual learner."""
    summary: str = ""
    """One line for `phaser methods`."""

    def __post_init__(self) -> None:
        protecting = [rule for rule in (self.rehearse, self.penalty) if rule.needs_policy]
        if self.joint and protecting:
            raise BadInput(
                f"{type(protecting[0]).__name__} protects earlier tasks, but a joint method has "
                "none; take one of the two away"
            )

    @property
    def needs_policy(self) -> bool:
        """True for a method that asks the policy for more than losses."""
        rules = (self.rehearse.needs_policy, self.penalty.needs_policy, self.draw.needs_gradient)
        return any(rules)

    @property
    def reads_gradient(self) -> bool:
        """True for a method that reads the gradient in the weights, which DeepSpeed frees."""
        return self.draw.reads_gradient or self.penalty.reads_gradient

    @property
    def asks_in_training(self) -> bool:
        """True for a method that asks the policy between the steps of a task, not only between
        tasks; FSDP has shared out its weights then."""
        return self.draw.asks_in_training or self.penalty.needs_policy

    @property
    def asks(self) -> dict[str, str]:
        """Optional methods of the policy that the rules need, each with the name of a rule."""
        return {
            name: type(rule).__name__
            for rule in (self.rehearse, self.penalty)
            for name in sorted(rule.asks)
        }

    def renamed(self, name: str) -> Method:
        """The same rules under another name."""
        return replace(self, name=name)
