"""Actions and states in the units that a backbone was trained in: the rule with its numbers.

They are fixed for a run, so that stored frames keep their meaning. Gripper commands are never
stretched: they are 0 and 1, or whatever the suite says.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from phaser.core.contract import Contract, Statistics
from phaser.core.errors import BadInput
from phaser.policies.parts.scaling import Rule, Scaling

EPSILON = 1e-8


class Ranges(nn.Module):
    """Linear maps of states and actions, there and back."""

    low: Tensor
    span: Tensor
    flat: Tensor
    stretched: Tensor
    opening: Tensor
    state_low: Tensor
    state_span: Tensor
    state_flat: Tensor

    def __init__(
        self,
        scaling: Scaling,
        contract: Contract,
        *,
        actions: Statistics | None,
        states: Statistics | None,
    ) -> None:
        super().__init__()
        self.rule = scaling.rule
        size, gripper = len(contract.action), contract.layout.gripper
        low, high, flat = _limits(scaling.rule, actions, size, what="action")
        stretched = torch.tensor(
            [scaling.rule != "fixed" and k not in gripper for k in range(size)]
        )
        opening = torch.tensor(
            [scaling.gripper == "one-opens" and k in gripper for k in range(size)]
        )
        state = _limits(scaling.rule, states, len(contract.state), what="state")
        if scaling.rule == "fixed":
            centre, scale = (
                torch.tensor(one) for one in (contract.state_centre, contract.state_scale)
            )
            state = (centre - scale, centre + scale, torch.zeros_like(centre, dtype=torch.bool))
        numbers = {
            "low": low,
            "span": high - low + (EPSILON if scaling.rule == "q99" else 0.0),
            "flat": flat,
            "stretched": stretched,
            "opening": opening,
            "state_low": state[0],
            "state_span": state[1] - state[0] + (EPSILON if scaling.rule == "q99" else 0.0),
            "state_flat": state[2],
        }
        for name, value in numbers.items():
            self.register_buffer(name, value, persistent=False)

    def actions_in(
        self, actions: Float[Tensor, "rows chunk action"]
    ) -> Float[Tensor, "rows chunk action"]:
        """The suite's actions as the network learns them."""
        scaled = self._stretched(actions, self.low, self.span, self.flat)
        out = torch.where(self.stretched, scaled, actions)
        return torch.where(self.opening, 1 - actions.clamp(0, 1), out)

    def actions_out(
        self, said: Float[Tensor, "rows chunk action"], *, decided: bool = False
    ) -> Float[Tensor, "rows chunk action"]:
        """The network's output as the suite's actions.

        Args:
            said: Numbers of the network.
            decided: Round the gripper to open or closed where the rule is "one-opens"; without it
                the map is linear and keeps gradients.
        """
        out = torch.where(self.stretched, 0.5 * (said + 1) * self.span + self.low, said)
        opens = torch.where(said > 0.5, -1.0, 1.0) if decided else 1 - 2 * said
        return torch.where(self.opening, opens.to(said.dtype), out)

    def states_in(self, states: Float[Tensor, "rows state"]) -> Float[Tensor, "rows state"]:
        """The suite's states as the network reads them."""
        return self._stretched(states, self.state_low, self.state_span, self.state_flat)

    def _stretched(self, x: Tensor, low: Tensor, span: Tensor, flat: Tensor) -> Tensor:
        safe = torch.where(span > 0, span, 1.0)
        scaled = torch.where(flat, 0.0, 2 * (x - low) / safe - 1)
        return scaled.clamp(-1, 1) if self.rule == "q99" else scaled


def _limits(
    rule: Rule, found: Statistics | None, size: int, *, what: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Lower and upper limit of each number, and which of them never change."""
    if rule == "fixed":
        return -torch.ones(size), torch.ones(size), torch.zeros(size, dtype=torch.bool)
    if found is None:
        raise BadInput(
            f"{what}s are scaled by {rule}, but the suite states no {what} statistics; set "
            "scaling.statistics to a dataset_statistics.json, or scaling.rule to fixed"
        )
    if len(found.min) != size:
        raise BadInput(
            f"the statistics have {len(found.min)} {what} numbers, the suite's {what} has {size}; "
            "expected statistics of this suite"
        )
    lowest, highest = torch.tensor(found.min), torch.tensor(found.max)
    if rule == "min-max":
        return lowest, highest, lowest == highest
    return torch.tensor(found.q01), torch.tensor(found.q99), lowest == highest
