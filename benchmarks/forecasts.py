"""Which forecast of interference agrees with what a new task really overwrites.

    python -m benchmarks.forecasts runs/bytes --methods sequential er [--json]

Over finished runs: when a task is learnt, the held-out loss of every phase of every earlier task
rises or falls. Each forecast ranks these phases before the task is learnt, from prototypes alone.
The table has the mean over transitions of the rank correlation (Spearman) between forecast and
rise, raw and with recency held fixed, and its 95 % interval over streams. Stored tasks are split
into two halves by name: a rule is chosen on the first and confirmed on the second.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from jaxtyping import Float

from phaser.core.buckets import Bucket
from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.memory import Memory, PreparedTask
from phaser.evaluation.student import mean_interval
from phaser.experiments.prepare import Preparation
from phaser.experiments.run import Run, run_from_file
from phaser.report.exhibits.correlations import partial_of_ranks, spearman
from phaser.report.runs import finished_folders
from phaser.routing.priority import Phases, action_divergence, context_overlap
from phaser.routing.routed import Routed
from phaser.suites.metaworld.tasks import task_names

FEWEST_PHASES = 6
"""A transition with fewer earlier phases has no ranking worth a correlation."""
HALVES = ("chosen on", "confirmed on")

Forecast = Callable[[Memory, PreparedTask], Float[np.ndarray, "buckets"]]


def routed(**settings: object) -> Forecast:
    """The priority of a routed draw with these settings."""
    rule = Routed(**settings)  # type: ignore[arg-type]
    return lambda memory, task: rule.priorities(memory, task)


def shared_context(memory: Memory, task: PreparedTask) -> Float[np.ndarray, "buckets"]:
    """The largest overlap of context with any current phase, whatever the motion."""
    overlap = context_overlap(Phases.stored(memory), Phases.of(task.prototypes), centre_vision=True)
    return np.asarray(overlap.max(axis=1))


def other_motion(memory: Memory, task: PreparedTask) -> Float[np.ndarray, "buckets"]:
    """The mean divergence of motion from the current phases, whatever the context."""
    apart = action_divergence(Phases.stored(memory), Phases.of(task.prototypes), motion_only=True)
    return np.asarray(apart.mean(axis=1))


def recency(memory: Memory, task: PreparedTask) -> Float[np.ndarray, "buckets"]:
    """The number of the task that a phase belongs to: the last one learnt is the most recent."""
    numbers = {name: number for number, name in enumerate(memory.by_task())}
    return np.array([float(numbers[bucket.phase.task]) for bucket in memory.buckets])


FORECASTS: Mapping[str, Forecast] = {
    "U, largest over current phases (phaser)": routed(),
    "U, mean": routed(over_current_phases="mean"),
    "U, at the closest context (phaser-floor)": routed(over_current_phases="closest"),
    "U, largest, no redundancy penalty": routed(redundancy_penalty=0.0),
    "U, closest, no redundancy penalty": routed(
        over_current_phases="closest", redundancy_penalty=0.0
    ),
    "U, the paper's literal routing": routed(
        over_current_phases="mean", centre_vision=False, motion_only=False, normalise_actions=True
    ),
    "context alone": shared_context,
    "motion alone": other_motion,
    "recency": recency,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """How well one forecast ranks what is lost."""

    forecast: str
    half: str
    method: str
    spearman: float
    low: float
    high: float
    given_recency: float | None
    num_transitions: int
    num_streams: int


def agreements(folders: Sequence[Path], methods: Sequence[str]) -> Iterator[Agreement]:
    """Every forecast on both halves, for the runs of each method."""
    found: dict[tuple[str, str, str], dict[int, list[tuple[float, float | None]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    prepared: dict[str, PreparedTask] = {}
    for folder in folders:
        run = run_from_file(folder / "run.json")
        if run.method.name not in methods:
            continue
        for half, forecast, whole, given in _transitions(folder, run, prepared):
            found[run.method.name, forecast, half][run.seed].append((whole, given))
    for (method, forecast, half), streams in found.items():
        per_stream = np.array(
            [[np.mean([whole for whole, _ in rows])] for rows in streams.values()]
        )
        interval = mean_interval(per_stream, bounds=(-1.0, 1.0))
        rests = [given for rows in streams.values() for _, given in rows if given is not None]
        yield Agreement(
            forecast=forecast,
            half=half,
            method=method,
            spearman=float(per_stream.mean()),
            low=interval.lower if interval else float("nan"),
            high=interval.upper if interval else float("nan"),
            given_recency=float(np.mean(rests)) if rests else None,
            num_transitions=sum(len(rows) for rows in streams.values()),
            num_streams=len(streams),
        )


def _transitions(
    folder: Path, run: Run, prepared: dict[str, PreparedTask]
) -> Iterator[tuple[str, str, float, float | None]]:
    """Half, forecast, correlation and correlation given recency, of every transition of a run."""
    names = [task.name for task in run.suite.tasks()]
    halves = _halves(run)
    _prepare(run, prepared)
    losses = _losses(folder)
    memory = Memory()
    for number, (before, now) in enumerate(pairwise(names)):
        memory = memory.with_buckets(_phases(prepared[before]))
        ids = [(bucket.phase.task, bucket.phase.index) for bucket in memory.buckets]
        rise = np.array([losses[number + 1][one] - losses[number][one] for one in ids])
        scores = {name: rule(memory, prepared[now]) for name, rule in FORECASTS.items()}
        for half, members in halves.items():
            rows = [k for k, (task, _) in enumerate(ids) if task in members]
            if len(rows) < FEWEST_PHASES:
                continue
            for name, score in scores.items():
                whole = spearman(list(score[rows]), list(rise[rows])).value
                if whole is None:
                    continue
                age = list(scores["recency"][rows])
                given = partial_of_ranks(list(score[rows]), list(rise[rows]), age).value
                yield half, name, whole, given if name != "recency" else None


def _halves(run: Run) -> dict[str, set[str]]:
    """Every second task of all that a stream may draw, by name."""
    every = sorted(task_names(run.suite.task_list))  # type: ignore[attr-defined]
    return {half: set(every[k::2]) for k, half in enumerate(HALVES)}


def _prepare(run: Run, prepared: dict[str, PreparedTask]) -> None:
    making = Preparation.of(
        run.suite,
        run.policy,
        run.encoders,
        chunk_length=run.policy.chunk_length,  # type: ignore[attr-defined]
    )
    for task in run.suite.tasks():
        if task.name not in prepared:
            print(f"preparing {task.name}", file=sys.stderr)
            prepared[task.name] = making.material(task, run.segmenter_of(task.name)).prepared


def _phases(task: PreparedTask) -> list[Bucket]:
    """Every phase of a task with its prototype; a frame stands for what would be kept."""
    return [
        Bucket(phase=phase, frames=(FrameRef(task.task.name, 0, 0),), prototype=prototype)
        for phase, prototype in zip(task.phase_ids(), task.prototypes, strict=True)
    ]


def _losses(folder: Path) -> dict[int, dict[tuple[str, int], float]]:
    """Held-out loss by number of the task just learnt, then by task and phase."""
    found: dict[int, dict[tuple[str, int], float]] = defaultdict(dict)
    for row in pq.read_table(folder / "losses.parquet").to_pylist():
        found[row["after_index"]][row["task"], row["phase_index"]] = row["loss"]
    return found


def table(rows: Sequence[Agreement]) -> Iterator[str]:
    """The agreements as Markdown, the best on the half that rules are chosen on first."""
    yield "| runs of | forecast | " + " | ".join(f"{half}" for half in HALVES) + " | streams |"
    yield "|---|---|---:|---:|---:|"
    pairs = {(one.method, one.forecast): {} for one in rows}  # type: ignore[var-annotated]
    for one in rows:
        pairs[one.method, one.forecast][one.half] = one
    order = sorted(pairs, key=lambda key: (key[0], -pairs[key][HALVES[0]].spearman))
    for method, forecast in order:
        both = pairs[method, forecast]
        cells = " | ".join(_cell(both[half]) for half in HALVES)
        yield f"| {method} | {forecast} | {cells} | {both[HALVES[0]].num_streams} |"


def _cell(one: Agreement) -> str:
    text = f"{one.spearman:+.2f} [{one.low:+.2f}, {one.high:+.2f}]"
    if one.given_recency is not None:
        text += f"; given recency {one.given_recency:+.2f}"
    return text.replace("-", "−")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("grids", nargs="+", type=Path, help="folders that hold finished runs")
    parser.add_argument("--methods", nargs="+", default=["sequential", "er"])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found = list(agreements(finished_folders(options.grids), options.methods))
    if not found:
        raise BadInput(f"no finished run of {', '.join(options.methods)} in these folders")
    if options.json:
        print(json.dumps([asdict(one) for one in found], indent=2))
    else:
        print("\n".join(table(found)))


if __name__ == "__main__":
    main()
