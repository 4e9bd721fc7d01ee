"""What each method costs beside er: time per step and per transition, passes, bytes on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from phaser.core.measurements import Passes
from phaser.evaluation.metrics import mean, mean_of_known
from phaser.report.runs import RunResult

BASELINE = "er"

HEADINGS = (
    "method",
    "CPU ms/step",
    "× er",
    "CPU ms/transition",
    "minus er",
    "measuring passes/task",
    "memory bytes",
    "penalty bytes",
)

EXPLANATION = (
    "Processor time of a training step and of what a method does once per task (draw, keep, "
    "penalty), means over seeds. ≤: the run's version timed steps only together with transitions "
    "and saving. ≈: not measured side by side with er (at the same time, on one machine), so what "
    "else the machine did is part of the difference. Passes are forward + backward passes that a "
    "sampler made to choose frames, and the stored frames that went through them. Bytes are the "
    "files that the run left."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class OverheadRow:
    """One method, means over its seeds; `None` where nothing was recorded, or there is no er."""

    method: str
    step_ms: float | None
    step_is_bound: bool
    side_by_side: bool
    """The runs and er's of the same seeds were at work at the same time on one machine."""
    step_ratio: float | None
    """Time of a step divided by er's, where both were timed alike."""
    transition_ms: float | None
    transition_extra_ms: float | None
    """Milliseconds of a transition beyond er's."""
    passes_per_task: Mapping[str, float]
    memory_bytes: float
    memory_ratio: float | None
    penalty_bytes: float


def overhead_rows(groups: Mapping[str, Sequence[RunResult]]) -> tuple[OverheadRow, ...]:
    """A row per method, in the order of the report."""
    baseline = groups.get(BASELINE)
    er = _row(BASELINE, baseline, None) if baseline else None
    return tuple(
        _row(method, runs, er, beside=_beside(runs, baseline or ()))
        for method, runs in groups.items()
    )


def _beside(runs: Sequence[RunResult], baseline: Sequence[RunResult]) -> bool:
    of_seed = {run.seed: run.circumstances for run in baseline}
    return all(run.seed in of_seed and run.circumstances.beside(of_seed[run.seed]) for run in runs)


def cells(row: OverheadRow) -> tuple[str, ...]:
    bound = "≤ " if row.step_is_bound else ""
    apart = "" if row.side_by_side else "≈ "
    return (
        row.method,
        "–" if row.step_ms is None else f"{bound}{row.step_ms:.2f}",
        "–" if row.step_ratio is None else f"{apart}{row.step_ratio:.3f}",
        "–" if row.transition_ms is None else f"{row.transition_ms:.1f}",
        "–" if row.transition_extra_ms is None else apart + _signed(row.transition_extra_ms),
        _passes(row.passes_per_task),
        f"{row.memory_bytes:,.0f}" + _ratio(row.memory_ratio),
        f"{row.penalty_bytes:,.0f}",
    )


def _row(
    method: str, runs: Sequence[RunResult], er: OverheadRow | None, *, beside: bool = False
) -> OverheadRow:
    costs = [run.cost for run in runs]
    step_ms = mean_of_known([cost.step_ms for cost in costs])
    transition_ms = mean_of_known([cost.transition_ms for cost in costs])
    is_bound = any(cost.is_bound for cost in costs)
    memory_bytes = mean([float(cost.memory_bytes) for cost in costs])
    is_alike = er is not None and er.step_is_bound == is_bound
    return OverheadRow(
        method=method,
        step_ms=step_ms,
        step_is_bound=is_bound,
        side_by_side=beside or method == BASELINE,
        step_ratio=_divided(step_ms, er.step_ms) if er and is_alike else None,
        transition_ms=transition_ms,
        transition_extra_ms=transition_ms - er.transition_ms
        if er and transition_ms is not None and er.transition_ms is not None
        else None,
        passes_per_task=_per_task([(run.cost.passes, len(run.tasks)) for run in runs]),
        memory_bytes=memory_bytes,
        memory_ratio=_divided(memory_bytes, er.memory_bytes) if er else None,
        penalty_bytes=mean([float(cost.penalty_bytes) for cost in costs]),
    )


def _per_task(made: Sequence[tuple[Passes, int]]) -> dict[str, float]:
    names = ("forward", "backward", "frames")
    return {name: mean([getattr(passes, name) / count for passes, count in made]) for name in names}


def _divided(value: float | None, by: float | None) -> float | None:
    return value / by if value is not None and by else None


def _signed(milliseconds: float) -> str:
    return f"{milliseconds + 0.0:+.1f}".replace("-0.0", "+0.0").replace("-", "−")


def _ratio(ratio: float | None) -> str:
    return "" if not ratio else f" ({ratio:.2f} × er)"


def _passes(made: Mapping[str, float]) -> str:
    if not any(made.values()):
        return "0"
    return f"{made['forward']:.3g} + {made['backward']:.3g}, {made['frames']:.4g} frames"
