"""Settings of a LeRobot policy; LeRobot itself is imported when the policy is built."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from phaser.core.contract import Contract
from phaser.core.errors import BadInput
from phaser.core.extras import libraries_for
from phaser.core.policy import FrontEnd
from phaser.core.ranges import COUNT, check_ranges
from phaser.core.streams import Stream

if TYPE_CHECKING:
    from phaser.policies.lerobot.policy import LeRobotPolicy

Instruction = Literal["embedded", "ignored"]
Losses = Literal["native", "one-by-one"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LeRobot:
    """Settings of a policy that LeRobot builds, or that it has saved."""

    type: str = "act"
    """LeRobot's name of the policy: act, diffusion, smolvla, pi0, pi05, …; with a path, the saved
    policy says it."""
    path: str | None = None
    """Folder of a saved policy (`pretrained_model` of a LeRobot training), or its name on the hub;
    none: fresh weights."""
    chunk_length: int = 16
    """Actions that a fresh policy gives at once: LeRobot's chunk_size, or horizon for Diffusion."""
    options: tuple[str, ...] = ()
    """Further fields of LeRobot's configuration, as field=value in JSON: dim_model=64
    pretrained_backbone_weights=null."""
    instruction: Instruction = "embedded"
    """"embedded": a policy without a language input reads the instruction's MiniLM vector as
    LeRobot's environment state. "ignored": it reads none, and cannot tell tasks apart by words."""
    losses: Losses = "native"
    """"native": one pass per batch where LeRobot gives one loss per sample. "one-by-one": one pass
    per sample, whose noise then does not depend on the number of processes."""
    device: str | None = None
    """Where it computes, such as cuda:1; none: the GPU where there is one, else the CPU."""

    def __post_init__(self) -> None:
        check_ranges(self, chunk_length=COUNT)
        for name, allowed in (
            ("instruction", ("embedded", "ignored")),
            ("losses", ("native", "one-by-one")),
        ):
            if (found := getattr(self, name)) not in allowed:
                raise BadInput(f"{name} {found!r}; expected one of {', '.join(allowed)}")
        _ = self.overrides

    @property
    def overrides(self) -> dict[str, Any]:
        """Fields of LeRobot's configuration that are set, by name."""
        found = {}
        for one in self.options:
            name, equals, text = one.partition("=")
            if not equals or not name.isidentifier():
                raise BadInput(f"option {one!r}; expected field=value, such as dim_model=64")
            try:
                found[name] = json.loads(text)
            except json.JSONDecodeError:
                # A word without quotes stands for itself: vision_backbone=resnet34.
                found[name] = text
        return found

    def build(self, contract: Contract, stream: Stream) -> LeRobotPolicy:
        """A policy for a suite's observations; the stream fixes all fresh weights."""
        with libraries_for("LeRobot's policies"):
            from phaser.policies.lerobot.building import build_policy

            return build_policy(self, contract, stream)

    def front_end(self, contract: Contract) -> FrontEnd | None:
        """None: LeRobot's policies read pixels."""
        return None
