"""The six cells of the paper's main table: three backbones on two suites, with its budgets."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.errors import UnknownName
from phaser.policies.openvla_oft.settings import OpenVlaOft
from phaser.policies.plan.inventories import Settings
from phaser.policies.plan.recipe import Recipe
from phaser.policies.qwen_gr00t.settings import QwenGr00t
from phaser.policies.qwen_oft.settings import QwenOft

STEP_LIMITS = {"libero-goal": 300, "libero-long": 520}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One backbone on one suite."""

    name: str
    policy: Settings
    recipe: Recipe


def _cells(name: str, policy: Settings, budgets: tuple[int, int], prompt_tokens: int) -> list[Cell]:
    return [
        Cell(
            name=f"{name}-{suite}",
            policy=policy,
            recipe=Recipe(frames_per_task=frames, step_limit=limit, prompt_tokens=prompt_tokens),
        )
        for (suite, limit), frames in zip(STEP_LIMITS.items(), budgets, strict=True)
    ]


CELLS = {
    cell.name: cell
    for cell in (
        # Prompt lengths are assumed: about a token for each word and sign.
        *_cells("openvla-oft", OpenVlaOft(), (110, 180), 35),
        *_cells("qwen-gr00t", QwenGr00t(), (1000, 1000), 80),
        *_cells("qwen-oft", QwenOft(), (1000, 1000), 105),
    )
}


def cells_named(name: str) -> list[Cell]:
    """One cell, or all cells of a policy."""
    if name in CELLS:
        return [CELLS[name]]
    found = [cell for cell in CELLS.values() if cell.name.rpartition("-libero-")[0] == name]
    if not found:
        policies = {key.rpartition("-libero-")[0] for key in CELLS}
        raise UnknownName("preset or policy to plan", name, [*CELLS, *policies])
    return found
