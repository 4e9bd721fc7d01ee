"""Held-out loss of short and long phases per method, compared with the baselines seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from phaser.core.streams import Streams
from phaser.evaluation.intervals import Interval, sign_flip_p
from phaser.evaluation.metrics import mean
from phaser.evaluation.student import mean_interval
from phaser.report.contrasts import Contrasts
from phaser.report.runs import RunResult

Kind = Literal["short", "long"]
KINDS: tuple[Kind, ...] = ("short", "long")
STREAMS = Streams(0)


@dataclass(frozen=True, kw_only=True, slots=True)
class LossDifference:
    """A method's loss minus a baseline's, over the seeds that both have; below 0 is better."""

    mean: float
    interval: Interval | None
    """None for a single seed, as is p."""
    p_value: float | None
    num_seeds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseRow:
    """One method: mean loss of its short and long phases after the last task, over seeds."""

    method: str
    losses: Mapping[Kind, float]
    differences: Mapping[tuple[Kind, str], LossDifference]


def phase_rows(
    groups: Mapping[str, Sequence[RunResult]], contrasts: Contrasts
) -> tuple[PhaseRow, ...]:
    """A row per method that has losses of both kinds."""
    by_seed = {
        (method, kind): _by_seed(runs, kind) for method, runs in groups.items() for kind in KINDS
    }
    return tuple(
        PhaseRow(
            method=method,
            losses={kind: mean(list(by_seed[method, kind].values())) for kind in KINDS},
            differences={
                (kind, baseline): _difference(
                    by_seed[method, kind], by_seed[baseline, kind], (method, baseline, kind)
                )
                for baseline in contrasts.of(method, groups)
                for kind in KINDS
                if set(by_seed[method, kind]) & set(by_seed[baseline, kind])
            },
        )
        for method in groups
        if all(by_seed[method, kind] for kind in KINDS)
    )


def headings(baselines: Sequence[str]) -> tuple[str, ...]:
    compared = [f"{kind} minus {baseline}" for kind in KINDS for baseline in baselines]
    return ("method", "short phases", "long phases", *compared)


def cells(row: PhaseRow, baselines: Sequence[str]) -> tuple[str, ...]:
    compared = [_cell(row.differences.get((kind, one))) for kind in KINDS for one in baselines]
    return (row.method, *(f"{row.losses[kind]:.3f}" for kind in KINDS), *compared)


def _by_seed(runs: Sequence[RunResult], kind: Kind) -> dict[int, float]:
    found = {
        run.seed: [phase.final_loss for phase in run.phases if phase.is_short == (kind == "short")]
        for run in runs
    }
    return {seed: mean(losses) for seed, losses in found.items() if losses}


def _difference(
    first: Mapping[int, float], second: Mapping[int, float], name: tuple[str, str, str]
) -> LossDifference:
    seeds = sorted(set(first) & set(second))
    differences = np.array([first[seed] - second[seed] for seed in seeds])
    stream = STREAMS.named("phase losses", *name)
    return LossDifference(
        mean=float(differences.mean()),
        interval=mean_interval(differences[:, None]),
        p_value=sign_flip_p(differences, stream) if len(seeds) > 1 else None,
        num_seeds=len(seeds),
    )


def _cell(found: LossDifference | None) -> str:
    if found is None:
        return "–"
    text = f"{found.mean:+.3f}"
    if found.interval is not None:
        text += f" [{found.interval.lower:+.3f}, {found.interval.upper:+.3f}]"
    text += ", 1 seed" if found.p_value is None else f", p = {found.p_value:.3g}"
    return text.replace("-", "−")
