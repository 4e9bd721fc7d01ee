"""Which phases decide success: over finished runs, how a phase's final loss goes with success.

python -m benchmarks.deciding_phases runs/metaworld-10 runs/metaworld-alt [--json]

Runs are compared within one task, order and budget, so that neither how hard a task is nor how long
ago it was learnt enters. A slope of -0.25 says: 10 % more loss on such phases goes with 2.5 points
less success. It is a correlation over methods and seeds; tasks are drawn again for the interval.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.report.runs import RunResult, read_run

BOUNDS = ("sequential", "joint")
FEWEST_RUNS = 8
NUM_DRAWS = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class Slope:
    """Success per relative loss of one kind of phase."""

    kind: str
    slope: float
    low: float
    high: float
    num_tasks: int
    num_points: int


def slopes(runs: Iterable[RunResult]) -> list[Slope]:
    """Of every kind of phase and of all together, the steepest first."""
    of_kind: dict[str, dict[str, list[Float[np.ndarray, "points 2"]]]] = {}
    for (task, _), group in _groups(runs).items():
        for kind, points in _points(task, group):
            of_kind.setdefault(kind, {}).setdefault(task, []).append(points)
    found = [_slope(kind, list(tasks.values())) for kind, tasks in of_kind.items()]
    return sorted(found, key=lambda one: one.slope)


def _groups(runs: Iterable[RunResult]) -> dict[tuple[str, str], list[RunResult]]:
    """Runs by task, order and budget; the last task was never followed by another."""
    groups: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for run in runs:
        for task in run.tasks[:-1]:
            groups[task, f"{run.preset} {run.order} {run.budget}"].append(run)
    return {key: group for key, group in groups.items() if len(group) >= FEWEST_RUNS}


def _points(
    task: str, group: Sequence[RunResult]
) -> Iterable[tuple[str, Float[np.ndarray, "points 2"]]]:
    """Relative loss and success of every run, less their means, for each phase of the task."""
    losses: dict[str, list[float]] = defaultdict(list)
    for run in group:
        of_task = [phase for phase in run.phases if phase.task == task]
        for phase in of_task:
            losses[phase.phase].append(phase.final_loss)
        losses["all"].append(float(np.mean([phase.final_loss for phase in of_task])))
    success = np.array([run.matrix.final(task).rate for run in group])
    for label, values in losses.items():
        # A method with boundaries of its own may cut the task otherwise.
        if len(values) == len(group):
            relative = np.array(values) / np.mean(values) - 1
            yield label.split("_")[0], np.stack([relative, success - success.mean()], axis=1)


def _slope(kind: str, tasks: Sequence[Sequence[Float[np.ndarray, "points 2"]]]) -> Slope:
    sums = np.array([_sums(np.concatenate(list(points))) for points in tasks])
    drawn = np.random.default_rng(0).integers(len(tasks), size=(NUM_DRAWS, len(tasks)))
    again = sums[drawn].sum(axis=1)
    low, high = np.quantile(again[:, 0] / np.maximum(again[:, 1], 1e-12), [0.025, 0.975])
    whole = sums.sum(axis=0)
    return Slope(
        kind=kind,
        slope=float(whole[0] / max(whole[1], 1e-12)),
        low=float(low),
        high=float(high),
        num_tasks=len(tasks),
        num_points=sum(len(block) for points in tasks for block in points),
    )


def _sums(points: Float[np.ndarray, "points 2"]) -> tuple[float, float]:
    loss, success = points.T
    return float(loss @ success), float(loss @ loss)


def finished_runs(roots: Sequence[Path], without: Sequence[str]) -> list[RunResult]:
    folders = sorted(done.parent for root in roots for done in root.glob("*/done.json"))
    runs = [read_run(folder) for folder in folders]
    return [run for run in runs if run.method not in (*BOUNDS, *without)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("grids", nargs="+", type=Path, help="folders that hold finished runs")
    parser.add_argument("--without", nargs="*", default=[], help="methods to leave out")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found = slopes(finished_runs(options.grids, options.without))
    if not found:
        raise BadInput(
            f"no task with {FEWEST_RUNS} finished runs of one order in "
            f"{', '.join(map(str, options.grids))}; name folders of grids"
        )
    if options.json:
        rows = [{name: getattr(one, name) for name in Slope.__slots__} for one in found]
        print(json.dumps(rows, indent=2))
        return
    print("| phase | success per relative loss | 95 % interval | tasks | points |")
    print("|---|---:|---:|---:|---:|")
    for one in found:
        interval = f"{one.low:+.2f} to {one.high:+.2f}" if one.num_tasks > 1 else "–"
        print(
            f"| {one.kind} | {one.slope:+.2f} | {interval} | {one.num_tasks} | {one.num_points} |"
        )


if __name__ == "__main__":
    try:
        main()
    except BadInput as error:
        print(f"deciding_phases: {error}", file=sys.stderr)
        sys.exit(2)
