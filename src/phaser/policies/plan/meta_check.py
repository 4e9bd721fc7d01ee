"""Holds a plan against the real network, built on the meta device: no weights, but every layer."""

from __future__ import annotations

from phaser.core.contract import Contract, Statistics
from phaser.core.demonstration import ActionLayout
from phaser.core.errors import PhaserError
from phaser.core.streams import Streams
from phaser.policies.lora import MARK
from phaser.policies.plan.cells import Cell
from phaser.policies.plan.values import Plan


def check_on_meta(cell: Cell, found: Plan) -> None:
    """Compare the numbers of weights; needs transformers and peft.

    Args:
        cell: What was planned.
        found: Its plan.
    """
    import torch

    with torch.device("meta"):
        policy = cell.policy.build(_contract(cell), Streams(0).named("weights"))
    whole = sum(one.numel() for name, one in policy.named_parameters() if MARK not in name)
    trained = sum(one.numel() for one in policy.trained_state().values())
    if (whole, trained) != (found.parameters, found.trained):
        raise PhaserError(
            f"the plan of {cell.name} counts {found.parameters} weights, {found.trained} trained; "
            f"the network has {whole} and {trained}: report this as a bug"
        )


def _contract(cell: Cell) -> Contract:
    recipe = cell.recipe
    states = tuple(f"state {k}" for k in range(recipe.state_size))
    actions = tuple(f"action {k}" for k in range(recipe.action_size))
    last = recipe.action_size - 1
    return Contract(
        suite="planned",
        cameras=tuple(f"camera {k}" for k in range(cell.policy.num_cameras)),
        image_size=(recipe.image_size, recipe.image_size),
        state=states,
        state_centre=(0.0,) * len(states),
        state_scale=(1.0,) * len(states),
        action=actions,
        layout=ActionLayout(motion=tuple(range(last)), gripper=(last,)),
        state_statistics=_statistics(len(states)),
        action_statistics=_statistics(len(actions)),
    )


def _statistics(size: int) -> Statistics:
    zeros, ones = (0.0,) * size, (1.0,) * size
    return Statistics(mean=zeros, std=ones, min=zeros, max=ones, q01=zeros, q99=ones)
