"""Cells with their recordings and progress, as demo, run and grid need them."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from phaser.cli.progress import Watch
from phaser.cli.recordings import BackgroundRecorder
from phaser.core.errors import BadInput
from phaser.core.suite import SPLITS
from phaser.experiments.events import Event, Failed
from phaser.experiments.position import POSITION, Position
from phaser.experiments.run import Run
from phaser.experiments.traces import Traces, require_trackers
from phaser.experiments.unrecorded import unrecorded

Notify = Callable[[str, Event], None]
"""Called with the name of a cell and what happened in it."""
Work = Callable[[Notify], object]
"""Runs the cells and tells the function it is given what happens in them."""


def watched(
    cells: Sequence[Run],
    work: Work,
    *,
    num_workers: int,
    to_stderr: bool,
    learnt: Collection[str] = (),
    verbose: bool = False,
    records: bool = True,
) -> None:
    """Do the work while recordings are made in the background and progress is shown.

    learnt: tasks that no cell has to learn any more; what is gone of them is not recorded again.
    records: False where the work itself sees to the recordings.
    """
    todo = unrecorded(cells, learnt) if records else []
    stream = sys.stderr if to_stderr else sys.stdout
    with (
        Watch(cells, stream=stream, num_workers=num_workers, verbose=verbose) as watch,
        BackgroundRecorder(todo, watch, num_workers=num_workers) as recorder,
    ):

        def notify(name: str, event: Event) -> None:
            recorder.check()
            if isinstance(event, Failed):
                watch.say(f"{name} failed: {event.message}")
            watch.cell(name, event)

        work(notify)


def learnt_tasks(run: Run, folder: Path) -> frozenset[str]:
    """Tasks that the interrupted run in a folder has learnt, kept and measured."""
    if run.method.joint or not (folder / POSITION).exists():
        return frozenset()
    reached = Position.read(folder / POSITION).task_index
    return frozenset(task.name for task in run.suite.tasks()[:reached])


def require_frames_for_phases(
    cells: Sequence[Run], say: Callable[[str], None], *, learnt: Collection[str] = ()
) -> None:
    """Refuse a budget smaller than the number of phases before training, not after a task.

    learnt: tasks that every cell has passed already; their demonstrations may be gone.
    """
    tight = [run for run in cells if _is_tight(run)]
    if not tight:
        return
    say("The budget is small: the phases of every task are counted first.")
    smallest = min(tight, key=_frames_per_task)
    for task in smallest.suite.tasks():
        if task.name in learnt:
            continue
        demos = [demo for split in SPLITS for demo in smallest.suite.demos(task, split)]
        num_phases = len(smallest.segmenter_of(task.name).segment(demos)[0].phases)
        fewest = smallest.method.keep.fewest(num_phases)
        if _frames_per_task(smallest) < fewest:
            raise BadInput(
                f"a budget of {_frames_per_task(smallest)} frames per task is smaller than the "
                f"{fewest} phases of {task.name!r}; give at least one frame per phase"
            )


def _is_tight(run: Run) -> bool:
    """True where some task may have more phases than its budget has frames."""
    most = run.segmenter_of(run.suite.tasks()[0].name).max_phases
    if run.phases:
        most = max(len(one.phases) for one in run.phases)
    return most is None or _frames_per_task(run) < run.method.keep.fewest(most)


def _frames_per_task(run: Run) -> float:
    budget = run.budget
    counts = budget is not None and (budget.unit, budget.per) == ("frames", "task")
    return budget.amount if budget is not None and counts else float("inf")


def settings_folder(out: Path | None, *parts: str) -> Path:
    """Where results go: what the user says, else below `runs`."""
    return out if out is not None else Path("runs", *parts)


def say_unfilmed(folders: Sequence[Path], traces: Traces, say: Callable[[str], None]) -> None:
    """Say which finished runs --record leaves without clips: rollouts are filmed as they happen."""
    from phaser.evaluation.clips import CLIPS

    without = [folder for folder in folders if not (folder / CLIPS).exists()]
    if traces.clips_per_task and without:
        more = f" and {len(without) - 1} more" if len(without) > 1 else ""
        say(
            f"--record films nothing of {without[0]}{more}: finished without clips; "
            "give another --out to film it."
        )


def traces_in(chosen: Namespace, run: Run) -> Traces:
    """What the flags ask cells to leave beside their results."""
    if chosen.record and not run.suite.has_simulator:
        raise BadInput("--record films rollouts, but this suite has no simulator; leave it out")
    trackers = tuple(dict.fromkeys(getattr(chosen, "track", ())))
    traces = Traces(clips_per_task=chosen.record, trackers=trackers)
    require_trackers(trackers)
    return traces
