"""The rule by which actions and states are brought into a backbone's units. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from phaser.core.errors import BadInput

Rule = Literal["q99", "min-max", "fixed"]
Gripper = Literal["as-recorded", "one-opens"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scaling:
    """How numbers are brought into the network's range."""

    rule: Rule = "q99"
    """"q99": the first and last percentile become -1 and 1, the rest is clipped (OpenVLA-OFT).
    "min-max": the smallest and largest value become -1 and 1 (starVLA). "fixed": states by the
    contract's centre and scale, actions as they are; for suites without statistics."""
    gripper: Gripper = "as-recorded"
    """"as-recorded": the suite's own numbers. "one-opens": the suite commands -1 to open and +1 to
    close, the network says 1 for open and 0 for closed, as published weights do."""
    statistics: str = "suite"
    """Where the ranges come from: "suite", its contract; "checkpoint", dataset_statistics.json in
    the checkpoint's folder; or the path of such a file."""
    statistics_key: str = ""
    """The entry of that file, such as libero_goal_no_noops; empty: the only one."""

    def __post_init__(self) -> None:
        for name, kinds in (("rule", Rule), ("gripper", Gripper)):
            if getattr(self, name) not in get_args(kinds):
                raise BadInput(
                    f"{name} {getattr(self, name)!r} of a scaling; expected one of "
                    f"{', '.join(get_args(kinds))}"
                )
