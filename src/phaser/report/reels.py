"""Reels: the clips of run folders with the counts that belong to them, ready to be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from phaser.core.errors import BadInput
from phaser.core.files import require_file
from phaser.evaluation.clips import Clip, read_clip, read_clips
from phaser.evaluation.matrix import SuccessMatrix
from phaser.evaluation.messages import Film
from phaser.report.fields import as_list, read_object, text
from phaser.report.runs import read_budget


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Shot:
    """One filmed rollout, and how many rollouts of its cell were solved."""

    film: Film
    success: bool
    solved: int
    tried: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Reel:
    """One clip for every cell of one run's matrix."""

    folder: Path
    method: str
    keeps: str
    """What the method keeps, in words."""
    tasks: tuple[str, ...]
    shots: Mapping[tuple[int, int], Shot]
    """By the stage's and the task's place in the order of the tasks."""


def read_reels(folders: Sequence[Path]) -> list[Reel]:
    """Clips of runs that are shown side by side, so of the same tasks in the same order."""
    reels = [_read(folder) for folder in folders]
    for reel in reels[1:]:
        if reel.tasks != reels[0].tasks:
            raise BadInput(
                f"{reels[0].folder} and {reel.folder} have other tasks, or another order; "
                "film them apart"
            )
    return reels


def _read(folder: Path) -> Reel:
    where = folder / "run.json"
    about, clips = read_object(where), read_clips(folder)
    if not clips:
        raise BadInput(f"{folder} has no clips; run it again with --record and another --out")
    tasks = tuple(str(task) for task in as_list(about.get("tasks"), where))
    rows = pq.read_table(require_plain(folder / "episodes.parquet"))
    matrix = SuccessMatrix.from_episodes(rows, tasks=tasks)
    budget = read_budget(about, where)
    places: dict[tuple[int, int], list[Clip]] = {}
    for clip in clips:
        places.setdefault((clip.after_index, clip.task_index), []).append(clip)
    return Reel(
        folder=folder,
        method=text(about, "method", where),
        keeps="keeps nothing" if budget is None else f"keeps {budget}",
        tasks=tasks,
        shots={place: _shot(folder, some, matrix) for place, some in places.items()},
    )


def require_plain(path: Path) -> Path:
    """The same path, of a plain file."""
    require_file(path)
    return path


def _shot(folder: Path, clips: Sequence[Clip], matrix: SuccessMatrix) -> Shot:
    """The first clip that ended as most rollouts of its cell did; the first where none did."""
    cell = matrix.cells.get((clips[0].after_task, clips[0].task))
    if cell is None:
        raise BadInput(f"{folder} has a clip of {clips[0].task!r} that episodes.parquet lacks")
    mostly = 2 * cell.successes >= cell.trials
    clip = next((one for one in clips if one.success == mostly), clips[0])
    return Shot(
        film=read_clip(folder / clip.file),
        success=clip.success,
        solved=cell.successes,
        tried=cell.trials,
    )
