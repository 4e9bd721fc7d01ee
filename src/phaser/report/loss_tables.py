"""Held-out losses of runs without rollouts, as cells of tables for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phaser.evaluation.metrics import mean_of_known
from phaser.report.loss_summary import LossRow
from phaser.report.runs import RunResult

HEADINGS = (
    "method",
    "held-out loss",
    "95 % interval",
    "when learnt",
    "forgetting",
    "short phases",
    "long phases",
    "seeds",
    "frames/task",
    "CPU s/run",
)
SHORT_HEADINGS = ("method", "held-out loss", "95 % interval", "when learnt", "forgetting", "seeds")
GLOSSARY = (
    ("Held-out loss", "action loss on demonstrations that were never trained on, mean over the "
     "phases of a task, then over tasks, after the last one; lower is better."),
    ("When learnt", "the same just after each task was learnt."),
    ("Forgetting", "growth of a task's loss between the two, mean over all tasks but the last; 0 "
     "is best."),
    ("Short phases", "phases below 18 % of their task."),
)  # fmt: skip


def cells(row: LossRow) -> tuple[str, ...]:
    """A method's row, in the order of `HEADINGS`."""
    interval = row.loss.interval
    return (
        row.method,
        f"{row.loss.mean:.3g}",
        "–" if interval is None else f"{interval.lower:.3g} – {interval.upper:.3g}",
        _known(row.learnt),
        "–" if row.forgetting is None else f"{row.forgetting + 0.0:+.3g}".replace("-", "−"),
        _known(row.short),
        _known(row.long),
        str(row.loss.num_seeds),
        str(row.frames_per_task),
        "–" if row.cpu_s is None else f"{row.cpu_s:.0f}",
    )


def task_headings(groups: Mapping[str, Sequence[RunResult]]) -> tuple[str, ...]:
    return ("task", *groups)


def task_rows(groups: Mapping[str, Sequence[RunResult]]) -> list[tuple[str, ...]]:
    """Per task and method: the loss when it was learnt, and at the end, means over seeds."""
    tasks = next(iter(groups.values()))[0].tasks
    return [(task, *(_grown(task, runs) for runs in groups.values())) for task in tasks]


def remark(unmeasured: Sequence[str]) -> str:
    """Says which tasks have no number at the end, and why; empty where all have one."""
    if not unmeasured:
        return ""
    return (
        f"Not measured after the last task, because their demonstrations were gone by then: "
        f"{', '.join(unmeasured)}. No mean counts them."
    )


def _grown(task: str, runs: Sequence[RunResult]) -> str:
    found = [one for run in runs for one in run.task_losses if one.task == task]
    learnt, final = (
        _known(mean_of_known([getattr(one, moment) for one in found]))
        for moment in ("learnt", "final")
    )
    return final if learnt == "–" else f"{learnt} → {final}"


def _known(loss: float | None) -> str:
    return "–" if loss is None else f"{loss:.3g}"
