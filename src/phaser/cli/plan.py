"""`phaser plan`: what a run on a real backbone needs, before a GPU is rented."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from phaser.cli.arguments import Parser
from phaser.cli.plan_text import details, table
from phaser.policies.plan.cells import CELLS, cells_named
from phaser.policies.plan.estimate import plan
from phaser.policies.plan.gpus import GPUS, gpu_named

if TYPE_CHECKING:
    from phaser.policies.plan.cells import Cell


def execute(arguments: Sequence[str]) -> int:
    parser = Parser(
        "plan",
        "Weights, memory of a GPU, operations, time, files and rollouts of a run on a real\n"
        "backbone, computed without its weights.",
        usage="phaser plan [PRESET|POLICY …] [--gpu NAME] [--gpus N] [--json]",
        epilog=f"presets: {', '.join(CELLS)}\nGPUs: {', '.join(GPUS)}",
    )
    parser.add_argument("names", nargs="*", metavar="PRESET|POLICY", help="default: all six cells")
    parser.add_argument("--gpu", default="h100", help="kind of GPU (default: h100)")
    parser.add_argument("--gpus", type=int, default=2, help="number of GPUs (default: 2)")
    parser.add_argument(
        "--utilisation",
        type=float,
        help="share of the GPU's peak that is reached (default: as in the paper's own runs)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="also build each network on the meta device and compare its weights",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse(arguments)
    cells = _cells(chosen.names)
    gpu = gpu_named(chosen.gpu)
    plans = [
        plan(
            cell.name,
            cell.policy,
            cell.recipe,
            gpu=gpu,
            num_gpus=chosen.gpus,
            utilisation=chosen.utilisation,
        )
        for cell in cells
    ]
    if chosen.check:
        from phaser.policies.plan.meta_check import check_on_meta

        for cell, found in zip(cells, plans, strict=True):
            check_on_meta(cell, found)
    if chosen.json:
        print(json.dumps([found.to_json() for found in plans], indent=2), flush=True)
    else:
        print("\n".join(table(plans) if len(plans) > 1 else details(plans[0])), flush=True)
    for found in plans:
        found.require_fit()
    return 0


def _cells(names: Sequence[str]) -> list[Cell]:
    found = [cell for name in names for cell in cells_named(name)]
    return list(dict.fromkeys(found)) if names else list(CELLS.values())
