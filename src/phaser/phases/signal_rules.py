"""How the boundary score is computed and how its peaks become candidates: all its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phaser.core.errors import BadInput
from phaser.core.ranges import AMOUNT, SHARE, at_least, check_ranges


@dataclass(frozen=True, kw_only=True, slots=True)
class SignalRules:
    """Weights and scales of the boundary score, and how its peaks become candidates."""

    motion_weight: float = 0.3
    """α of the paper: weight of the change of motion."""
    gripper_weight: float = 1.0
    """β of the paper: weight of the change of the gripper command."""
    slow_weight: float = 0.0
    """γ of the paper (there 0.4): weight of a slow step. A pause belongs to the phase it is in, so
    it makes no boundary here."""
    slow: Literal["onset", "every"] = "onset"
    """Which slow steps count: the first after a window without any, or every one (the paper)."""
    scale_quantile: float = 0.95
    """A motion dimension is divided by this quantile of its absolute value."""
    scale_floor: float = 1.0
    """No dimension's scale falls below this share of the largest, else jitter is blown up."""
    slow_quantile: float = 0.15
    """τ_v: the speed below which a step is slow, as a quantile of the demonstration's speeds."""
    closing_sign: Literal[1, -1] = 1
    """1: a rising gripper command closes (Meta-World, LIBERO); -1: it opens."""
    suppression_window: int = 5
    """Two peaks are at least this many steps apart; of closer ones the higher is a candidate."""
    max_candidates: int = 8
    """M of the paper."""
    gripper_evidence: float = 0.2
    """Change of the scaled gripper command that counts as closing or opening."""
    turn_evidence: float = 0.5
    """Change of the scaled motion that counts as a turn."""
    change_window: int = 2
    """The change of motion is between the means of this many steps on either side."""
    context_window: int = 8
    """A change counts only as far as it shows between the means of this many steps too; 0: off."""
    idle_speed: float = 0.2
    """A pause is a full suppression window with a scaled speed of at most this; 0: none is cut."""
    gripper_first: bool = True
    """The steps at which the gripper closes or opens for good are candidates before any other."""

    def __post_init__(self) -> None:
        whole = {"change_window": 1, "context_window": 0}
        whole |= {"suppression_window": 1, "max_candidates": 1}
        check_ranges(
            self,
            **{name: at_least(low, whole=True) for name, low in whole.items()},
            **dict.fromkeys(_SHARES, SHARE),
            **dict.fromkeys(_AMOUNTS, AMOUNT),
        )
        for name in ("slow", "closing_sign"):
            if isinstance(getattr(self, name), bool) or getattr(self, name) not in _CHOICES[name]:
                known = " or ".join(repr(one) for one in _CHOICES[name])
                raise BadInput(f"{name} {getattr(self, name)!r}; expected {known}")


_CHOICES = {"slow": ("onset", "every"), "closing_sign": (1, -1)}
_SHARES = ("scale_quantile", "scale_floor", "slow_quantile", "gripper_evidence")
_AMOUNTS = ("motion_weight", "gripper_weight", "slow_weight", "turn_evidence", "idle_speed")

PAPER_RULES = SignalRules(
    slow_weight=0.4,
    slow="every",
    scale_floor=0.1,
    change_window=1,
    context_window=0,
    idle_speed=0.0,
    gripper_first=False,
)
"""The paper's score to the letter: one step against the next, and every slow step counts."""
