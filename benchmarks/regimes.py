"""Where does one method's lead over another come from: by kind of task and of phase.

    python -m benchmarks.regimes results/curve --methods phaser er --sizes 10 20 50 230 [--json]

Exploratory: arms METHOD-bSIZE of a folder, paired by stream. Success after the last task is split
by the tasks' shortest phase (below 18 % of the task or not) and by when they were learnt (first or
second half of the stream); held-out loss by short and long phases. Means over sizes, then over
streams, 95 % interval over streams.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from phaser.evaluation.student import mean_interval
from phaser.memory.budget import Budget
from phaser.report.by_budget import runs_by_budget
from phaser.report.runs import finished_folders
from phaser.report.splits import SPLITS


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """The mean difference of one kind."""

    kind: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    streams: int


KINDS = {
    "solved %, tasks with a brief phase": "solved-with-brief",
    "solved %, tasks without": "solved-without-brief",
    "solved %, first half of the stream": "solved-early",
    "solved %, second half": "solved-late",
    "loss, brief phases": "loss-brief",
    "loss, other phases": "loss-other",
}


def splits(folder: Path, methods: Sequence[str], sizes: Sequence[int]) -> Iterator[Split]:
    """Every kind, the first method against the second; FOLDER@A-B: of streams A to B alone."""
    runs = runs_by_budget(finished_folders([folder]))
    arms = {
        (method, size): {
            run.seed: run for run in runs[Budget.per_task(size)] if run.method == method
        }
        for method in methods
        for size in sizes
    }
    seeds = sorted(set.intersection(*(set(runs) for runs in arms.values())))
    for kind, name in KINDS.items():
        measure = SPLITS[name]
        values = np.array(
            [
                [np.mean([measure(arms[method, size][seed]) for size in sizes]) for seed in seeds]
                for method in methods
            ]
        )
        values = values[:, ~np.isnan(values).any(axis=0)]
        if not values.shape[1]:
            continue  # no stream has both kinds
        apart = values[0] - values[1]
        interval = mean_interval(apart[:, None])
        yield Split(
            kind=kind,
            first=float(values[0].mean()),
            second=float(values[1].mean()),
            difference=float(apart.mean()),
            low=interval.lower if interval else float("nan"),
            high=interval.upper if interval else float("nan"),
            streams=values.shape[1],
        )


def table(rows: Sequence[Split], methods: Sequence[str]) -> Iterator[str]:
    yield f"| | {methods[0]} | {methods[1]} | difference | streams |"
    yield "|---|---:|---:|---:|---:|"
    for one in rows:
        places = 3 if one.kind.startswith("loss") else 1
        ends = f"[{one.low:+.{places}f}, {one.high:+.{places}f}]"
        text = f"{one.difference:+.{places}f} {ends}".replace("-", "−")
        yield (
            f"| {one.kind} | {one.first:.{places}f} | {one.second:.{places}f} | {text} "
            f"| {one.streams} |"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--methods", nargs=2, default=["phaser", "er"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[10, 20, 50, 230])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = list(splits(options.folder, options.methods, options.sizes))
    if options.json:
        print(json.dumps([asdict(one) for one in rows], indent=2))
    else:
        print("\n".join(table(rows, options.methods)))


if __name__ == "__main__":
    main()
