"""What runs the cells of a grid: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from phaser.cli.arguments import Parser, processes, steps
from phaser.core.errors import BadInput
from phaser.experiments.grid import Engine

LOCAL, RAY = "local", "ray"


def add_engine(parser: Parser) -> None:
    """Flags that choose an engine and its share of the machines."""
    group = parser.add_argument_group("engine")
    group.add_argument(
        "--engine", choices=(LOCAL, RAY), default=LOCAL, help="local processes, or Ray (extra: ray)"
    )
    group.add_argument("--workers", type=processes, default=2, help="local: processes (default: 2)")
    group.add_argument(
        "--address", metavar="HOST", help="Ray's cluster: auto, or ray://HOST:10001 (default: own)"
    )
    group.add_argument(
        "--cpus-per-cell", type=_share, default=1.0, metavar="N", help="Ray (default: 1)"
    )
    group.add_argument(
        "--gpus-per-cell", type=_share, default=0.0, metavar="N", help="Ray (default: 0)"
    )
    group.add_argument(
        "--retries",
        type=steps,
        default=3,
        metavar="N",
        help="Ray: how often a cell is started again whose node was lost (default: 3)",
    )
    group.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="recordings and features; with Ray, like --out, on a disk that all nodes share",
    )


def engine_of(chosen: argparse.Namespace) -> Engine | None:
    """The engine that the flags name; none for local processes."""
    if chosen.engine == LOCAL:
        if chosen.address is not None:
            raise BadInput("grid: --address is Ray's; add --engine ray")
        return None
    from phaser.experiments.ray_engine import RayCluster

    return RayCluster(
        address=chosen.address,
        cpus_per_cell=chosen.cpus_per_cell,
        gpus_per_cell=chosen.gpus_per_cell,
        retries=chosen.retries,
    )


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return value
