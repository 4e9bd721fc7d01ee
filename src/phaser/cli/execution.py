"""Cells with their recordings and progress, as demo, run and grid need them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from phaser.cli.progress import Watch
from phaser.cli.recordings import BackgroundRecorder, missing
from phaser.core.errors import BadInput
from phaser.experiments.cell import Event
from phaser.experiments.grid import Notify
from phaser.experiments.run import Run
from phaser.memory.phase_buckets import PhaseBuckets

Work = Callable[[Notify], object]
"""Runs the cells and tells the function it is given what happens in them."""


def watched(cells: Sequence[Run], work: Work, *, num_workers: int, to_stderr: bool) -> None:
    """Do the work while recordings are made in the background and progress is shown."""
    todo = missing(cells[0])
    with Watch(cells, stream=sys.stderr if to_stderr else sys.stdout) as watch:
        if todo:
            watch.expect_recordings(len(todo))
        recorder = BackgroundRecorder(cells[0], todo, watch.recorded, num_workers=num_workers)
        with recorder:

            def notify(name: str, event: Event) -> None:
                recorder.check()
                watch.cell(name, event)

            work(notify)


def require_frames_for_phases(cells: Sequence[Run], say: Callable[[str], None]) -> None:
    """Refuse a budget smaller than the number of phases before training, not after a task."""
    tight = [
        run
        for run in cells
        if isinstance(run.method.keep, PhaseBuckets)
        and run.bytes_per_task is None
        and run.frames_per_task < run.most_phases
    ]
    if not tight:
        return
    say("The budget is small: the phases of every task are counted first.")
    smallest = min(tight, key=lambda run: run.frames_per_task)
    for task in smallest.suite.tasks():
        demos = [
            demo for split in ("train", "heldout") for demo in smallest.suite.demos(task, split)
        ]
        num_phases = len(smallest.segmenter_of(task.name).segment(demos)[0].phases)
        keep = smallest.method.keep
        zeroed = isinstance(keep, PhaseBuckets) and keep.zero_phase is not None
        if keep.frames_per_task < num_phases - zeroed:
            raise BadInput(
                f"a budget of {keep.frames_per_task} frames per task is smaller than the "
                f"{num_phases - zeroed} phases of {task.name!r}; give at least one frame per phase"
            )


def settings_folder(out: Path | None, *parts: str) -> Path:
    """Where results go: what the user says, else below `runs`."""
    return out if out is not None else Path("runs", *parts)
