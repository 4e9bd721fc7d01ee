"""Tables of streams learnt with LoRA on a pretrained base beside those on a random one.

    python -m benchmarks.small_tables --base runs/small --random runs/small-random

Only finished cells count. A task's forgetting is how much its held-out loss grew from when it was
learnt to the end of the stream; tasks that are the last of any run are left out of it. Intervals
are over seeds and tasks (Student's t), so with one seed they are over tasks alone.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.evaluation.comparison import PairedDifference
from phaser.evaluation.loss_comparison import (
    Losses,
    LossEstimate,
    estimate_loss,
    paired_loss_difference,
)
from phaser.evaluation.phase_losses import TaskLoss
from phaser.report.runs import RunResult, read_runs

STREAM = Streams(0).named("small tables")
Grids = Mapping[str, Mapping[str, Sequence[RunResult]]]
"""Finished cells by base, then by method."""
Measure = Callable[[TaskLoss], float | None]
MEASURES: Mapping[str, Measure] = {
    "when learnt": lambda one: one.learnt,
    "at the end": lambda one: one.final,
    "forgetting": lambda one: one.increase,
}


def finished(folder: Path) -> dict[str, list[RunResult]]:
    """The finished cells of a grid, by method."""
    found: dict[str, list[RunResult]] = defaultdict(list)
    done = [one.parent for one in sorted(folder.glob("*/done.json"))]
    for run in read_runs(done) if done else ():
        found[run.method].append(run)
    return dict(found)


def losses(runs: Sequence[RunResult], measure: Measure, left_out: set[str]) -> Losses:
    """One measure of every task, by seed and task."""
    return {
        run.seed: {
            one.task: value
            for one in run.task_losses
            if one.task not in left_out and (value := measure(one)) is not None
        }
        for run in runs
    }


def rows_of_methods(grids: Grids) -> Iterator[str]:
    """What each method measured on each base."""
    last = last_tasks(grids)
    heads = " | ".join(f"loss {name}" if name != "forgetting" else name for name in MEASURES)
    yield f"| base | method | seeds | {heads} | success when learnt | at the end | CPU s/run |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for base, methods in grids.items():
        for method, runs in methods.items():
            told = [
                with_interval(
                    estimate_loss(losses(runs, measure, left_out(name, last))), sign=False
                )
                for name, measure in MEASURES.items()
            ]
            cpu = sum(run.timing.get("total_cpu_s", 0.0) for run in runs) / len(runs)
            counts = [successes(runs, at_the_end=end) for end in (False, True)]
            cells = " | ".join([*told, *counts])
            yield f"| {base} | {method} | {len(runs)} | {cells} | {cpu:.0f} |"


def rows_of_differences(
    grids: Grids,
) -> Iterator[str]:
    """Each method minus `er` on the same base, and each method's pretrained minus random base."""
    last = last_tasks(grids)
    yield "| difference | seeds | " + " | ".join(MEASURES) + " |"
    yield "|---|---:|---:|---:|---:|"
    pairs = [
        (f"{base}: {method} − er", methods[method], methods["er"])
        for base, methods in grids.items()
        for method in methods
        if method != "er" and "er" in methods
    ]
    first, second = grids
    pairs += [
        (f"{method}: {first} − {second}", grids[first][method], grids[second][method])
        for method in grids[first]
        if method in grids[second]
    ]
    for name, these, those in pairs:
        found = [
            paired_loss_difference(
                losses(these, measure, left_out(what, last)),
                losses(those, measure, left_out(what, last)),
                STREAM,
            )
            for what, measure in MEASURES.items()
        ]
        cells = " | ".join(with_interval(one, sign=True) for one in found)
        yield f"| {name} | {found[0].num_seeds} | {cells} |"


def last_tasks(grids: Grids) -> set[str]:
    """Tasks with which any run ends."""
    return {
        run.tasks[-1] for methods in grids.values() for runs in methods.values() for run in runs
    }


def left_out(measure: str, last: set[str]) -> set[str]:
    """Tasks that a measure does not count: what was learnt last had no time to be forgotten."""
    return last if measure == "forgetting" else set()


def successes(runs: Sequence[RunResult], *, at_the_end: bool) -> str:
    """Successful rollouts of all tasks, when each was learnt or after the last one."""
    cells = [
        cell
        for run in runs
        for (after, task), cell in run.matrix.cells.items()
        if after == (run.tasks[-1] if at_the_end else task)
    ]
    return f"{sum(cell.successes for cell in cells)}/{sum(cell.trials for cell in cells)}"


def with_interval(found: LossEstimate | PairedDifference, *, sign: bool) -> str:
    """A mean with its interval, where numbers differ enough to have one."""
    form = "+.3f" if sign else ".3f"
    if found.interval is None:
        return f"{found.mean:{form}}".replace("-", "−")
    low, high = (format(end, form) for end in (found.interval.lower, found.interval.upper))
    return f"{found.mean:{form}} [{low}, {high}]".replace("-", "−")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--base", type=Path, required=True, help="grid on the pretrained base")
    parser.add_argument("--random", type=Path, required=True, help="grid on a random base")
    told = parser.parse_args()
    grids = {"pretrained": finished(told.base), "random": finished(told.random)}
    if not any(grids.values()):
        raise BadInput(f"neither {told.base} nor {told.random} holds a finished run")
    print("\n".join(rows_of_methods(grids)), end="\n\n")
    print("\n".join(rows_of_differences(grids)))


if __name__ == "__main__":
    main()
