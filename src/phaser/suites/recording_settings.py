"""What can be set about recording scripted experts, in any suite."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from phaser.core.ranges import AMOUNT, COUNT, COUNT_OR_ZERO, check_ranges


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordingSettings:
    """How demonstrations are recorded; suites give the numbers that suit their experts."""

    num_train: int = 25
    """Demonstrations of a task that are learnt from."""
    num_heldout: int = 5
    """Demonstrations of a task that only measure."""
    noise: float = 0.15
    """Deviation of the noise added to executed moves; labels stay the expert's own."""
    steps_after_success: int = 5
    """Steps that a demonstration goes on after its task is solved."""
    max_steps: int = 200
    """Steps after which an unsolved demonstration is given up."""
    tries_per_demo: int = 4
    """How many layouts, or rounds over the initial states, may be tried for a demonstration."""

    def __post_init__(self) -> None:
        check_ranges(
            self,
            num_train=COUNT,
            num_heldout=COUNT,
            noise=AMOUNT,
            steps_after_success=COUNT_OR_ZERO,
            max_steps=COUNT,
            tries_per_demo=COUNT,
        )

    def num_demos(self, split: str) -> int:
        return self.num_train if split == "train" else self.num_heldout

    def of_one_demo(self) -> dict[str, Any]:
        """Those that decide what a single demonstration looks like."""
        return {k: v for k, v in asdict(self).items() if k not in ("num_train", "num_heldout")}
