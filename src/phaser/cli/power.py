"""`phaser power`: how many streams and rollouts find a gap, from the spread of finished runs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from phaser.cli.arguments import Parser, points_given
from phaser.cli.output import print_json
from phaser.cli.text_table import columns
from phaser.core.errors import BadInput, UnknownName
from phaser.evaluation.matrix import SuccessMatrix
from phaser.evaluation.pilot import Design, Pilot, Spread, design, read_pilot
from phaser.evaluation.power import MOST_STREAMS
from phaser.report.by_budget import kind, runs_by_budget
from phaser.report.runs import finished_folders
from phaser.report.wording import points

NUMBERS_OF_STREAMS = (6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
NUMBERS_OF_ROLLOUTS = (5, 10, 20, 50)

DESCRIPTION = """\
From finished runs, such as a pilot grid's: how much the paired difference of two methods varies
from stream to stream (a stream is a seed), at every budget and in the mean over budgets, and how
many streams and rollouts per task would find a gap with 80 % power at a two-sided level of .05."""


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("power", DESCRIPTION)
    parser.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="RUNS",
        help="folders of runs, or of grids; RUNS@0-5: those of seeds 0 to 5",
    )
    parser.add_argument(
        "--gap", type=points_given, default=3.0, metavar="POINTS", help="to find (default: 3)"
    )
    parser.add_argument("--method", default="phaser", help="default: phaser")
    parser.add_argument("--against", default="er", help="default: er")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse(arguments)
    pilot = _pilot(finished_folders(chosen.folders), chosen.method, chosen.against)
    spread = pilot.over_budgets()
    designs = [
        design(spread, gap=chosen.gap / 100, num_rollouts=number, numbers=NUMBERS_OF_STREAMS)
        for number in sorted({*NUMBERS_OF_ROLLOUTS, pilot.num_rollouts})
    ]
    if chosen.json:
        print_json(_as_json(chosen, pilot, designs))
    else:
        print("\n".join(_as_text(chosen, pilot, designs)), flush=True)
    return 0


def _pilot(folders: Sequence[Path], method: str, against: str) -> Pilot:
    if method == against:
        raise BadInput(f"power: --method and --against are both {method}; name two methods")
    runs = runs_by_budget(folders)
    if len({kind(budget) for budget in runs}) != 1:
        found = ", ".join(map(str, runs)) or "none"
        raise BadInput(
            f"power: needs budgets of one kind, in frames or in bytes; found {found}; name runs "
            "that can be averaged"
        )
    matrices: dict[str, dict[str, dict[int, SuccessMatrix]]] = {}
    for budget, group in runs.items():
        if group[0].metrics is None:
            raise BadInput(f"power: {group[0].folder} has no rollouts, so no success rate varies")
        for run in group:
            by_budget = matrices.setdefault(run.method, {})
            by_budget.setdefault(str(budget), {})[run.seed] = run.matrix
    for name in (method, against):
        if name not in matrices:
            raise UnknownName("method among these runs", name, matrices)
    return read_pilot(matrices[method], matrices[against])


def _as_text(chosen: argparse.Namespace, pilot: Pilot, designs: Sequence[Design]) -> list[str]:
    correlation = pilot.correlation()
    between = (
        ""
        if correlation is None
        else f"; differences at two budgets correlate by {correlation:.2f} in the mean"
    )
    header = ("points", "mean", "deviation", "95 % interval", "of which rollouts")
    spreads = [*((one, pilot.at(one)) for one in pilot.budgets)]
    if len(pilot.budgets) > 1:
        spreads.append(("mean over budgets", pilot.over_budgets()))
    right = range(1, 1 + max(len(header), len(designs)))
    return [
        f"{chosen.method} minus {chosen.against}: {len(pilot.streams)} streams, "
        f"{pilot.num_rollouts} rollouts per task{between}.",
        "",
        *columns([header, *(_spread_row(*one) for one in spreads)], right=right),
        "",
        f"Power to find {chosen.gap:g} points"
        + (" in the mean over budgets" if len(pilot.budgets) > 1 else "")
        + ", two-sided .05 (below: streams needed for 80 %):",
        "",
        *columns(_power_rows(designs, chosen.gap), right=right),
    ]


def _spread_row(name: str, spread: Spread) -> tuple[str, ...]:
    interval = spread.interval
    return (
        name,
        points(spread.mean),
        f"{100 * spread.deviation:.1f}",
        f"{100 * interval.lower:.1f} to {100 * interval.upper:.1f}",
        f"{100 * spread.rollout_deviation:.1f}",
    )


def _power_rows(designs: Sequence[Design], gap: float) -> list[tuple[str, ...]]:
    by_streams = [
        (f"{number} streams", *(f"{100 * one.power[number]:.0f} %" for one in designs))
        for number in NUMBERS_OF_STREAMS
    ]
    return [
        ("rollouts per task", *(str(one.num_rollouts) for one in designs)),
        *by_streams,
        ("to find it", *(_number(one.needed) for one in designs)),
        ("… if the deviation is its upper end", *(_number(one.needed_at_most) for one in designs)),
        (
            f"to show equality within ±{gap:g}",
            *(_number(one.needed_for_equality) for one in designs),
        ),
    ]


def _number(needed: int | None) -> str:
    return f"> {MOST_STREAMS}" if needed is None else str(needed)


def _as_json(
    chosen: argparse.Namespace, pilot: Pilot, designs: Sequence[Design]
) -> Mapping[str, object]:
    return {
        "method": chosen.method,
        "against": chosen.against,
        "gap": chosen.gap / 100,
        "streams": list(pilot.streams),
        "num_rollouts": pilot.num_rollouts,
        "correlation": pilot.correlation(),
        "budgets": {one: asdict(pilot.at(one)) for one in pilot.budgets},
        "over_budgets": asdict(pilot.over_budgets()),
        "designs": [asdict(one) for one in designs],
    }
