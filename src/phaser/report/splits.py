"""Success and loss of some of a run's tasks or phases: by brief phases, by when tasks were learnt.

A split says where a lead of one arm over another comes from. They are exploratory: a page that
quotes one says how many were looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phaser.report.runs import RunResult

Measure = Callable[[RunResult], float]


def has_brief_phase(run: RunResult, task: str) -> bool:
    return any(phase.is_short for phase in run.phases if phase.task == task)


def is_early(run: RunResult, task: str) -> bool:
    """True for a task of the first half of its stream."""
    return run.tasks.index(task) < len(run.tasks) // 2


def _solved(which: Callable[[RunResult, str], bool], wanted: bool) -> Measure:
    def of(run: RunResult) -> float:
        return _mean(
            [100 * run.matrix.final(task).rate for task in run.tasks if which(run, task) == wanted]
        )

    return of


def _loss(brief: bool) -> Measure:
    def of(run: RunResult) -> float:
        return _mean([phase.final_loss for phase in run.phases if phase.is_short == brief])

    return of


def progress(run: RunResult) -> float:
    """Percent of its task's milestones that a rollout after the last task reached, the mean.

    A solved rollout has reached them all. Not a number where the suite tells no milestones.
    """
    shares: dict[str, list[float]] = {task: [] for task in run.tasks}
    for one in run.failures:
        shares[one.task].append(_mean([float(reached) for _, reached in one.milestones]))
    found = []
    for task, partly in shares.items():
        final = run.matrix.final(task)
        if final.successes + len(partly) != final.trials:
            return float("nan")
        found.append(100 * (final.successes + sum(partly)) / final.trials)
    return _mean(found)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


SPLITS: Mapping[str, Measure] = {
    "progress": progress,
    "solved-with-brief": _solved(has_brief_phase, True),
    "solved-without-brief": _solved(has_brief_phase, False),
    "solved-early": _solved(is_early, True),
    "solved-late": _solved(is_early, False),
    "loss-brief": _loss(True),
    "loss-other": _loss(False),
}
"""How far rollouts came; percent solved after the last task: of tasks with, without a brief phase
and of the first and second half of a stream; held-out loss after the last task, of brief and of
other phases. Not a number where a run has no such task or phase."""
