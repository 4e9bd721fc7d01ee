"""Read finished run folders; every file is checked, and an error names the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import require_file
from phaser.evaluation.clips import Clip, read_clips
from phaser.evaluation.matrix import SuccessMatrix
from phaser.evaluation.metrics import Metrics, continual_metrics
from phaser.evaluation.phase_losses import PhaseLoss, TaskLoss, phase_losses, task_losses
from phaser.memory.budget import Budget
from phaser.report.certificate import Certificate, read_certificate
from phaser.report.circumstances import Circumstances, read_circumstances
from phaser.report.fields import as_list, as_object, number, read_object, text, whole
from phaser.report.milestones import Failure, final_failures
from phaser.report.overhead_cost import Cost, planned_steps, read_cost
from phaser.report.routing import Transition, read_routing

METHOD_ORDER = (
    "sequential",
    "er",
    "er-even",
    "mir",
    "icarl",
    "er-routed",
    "phase-only",
    "zero-budget",
    "phaser-paper",
    "phaser",
)
"""Baselines first, the proposal last; methods not named here follow, joint closes."""


SEEDS = re.compile(r"(?P<folder>.+)@(?P<seeds>(?P<first>\d{1,9})-(?P<last>\d{1,9}))")
"""A folder, and which seeds of it are meant."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """One cell: one method, one seed, one budget, and all that was measured."""

    folder: Path
    name: str
    suite: str
    preset: str
    method: str
    seed: int
    order: str
    tasks: tuple[str, ...]
    budget: Budget | None
    """None for a method that keeps nothing."""
    settings: Mapping[str, Any]
    versions: Mapping[str, Any]
    commit: str
    command: str
    matrix: SuccessMatrix
    """Without cells where there is no simulator."""
    metrics: Metrics | None
    """None where there is no simulator: the run is then judged by held-out loss."""
    phases: tuple[PhaseLoss, ...]
    task_losses: tuple[TaskLoss, ...]
    routing: tuple[Transition, ...]
    certificate: Certificate
    timing: Mapping[str, float]
    cost: Cost
    instructions: Mapping[str, str]
    """By task; empty where an old run did not write them."""
    circumstances: Circumstances
    clips: tuple[Clip, ...]
    """Rollouts that were filmed; none where none were."""
    failures: tuple[Failure, ...]
    """Rollouts that failed after the last task, with how far they came; none where not known."""

    @property
    def largest_share(self) -> int:
        """Frames that the task with the most frames holds."""
        return max(self.certificate.frames_per_task.values(), default=0)


def finished_folders(places: Sequence[Path]) -> list[Path]:
    """Cell folders that are finished, at or below each place; FOLDER@A-B: of seeds A to B alone."""
    found: list[Path] = []
    for place in places:
        part = SEEDS.fullmatch(place.name) if not place.exists() else None
        folder = place.with_name(part["folder"]) if part else place
        here = sorted(done.parent for done in folder.rglob("done.json"))
        if not here:
            raise BadInput(
                f"{folder} holds no finished run; expected a folder with done.json in it"
            )
        if part:
            seeds = range(int(part["first"]), int(part["last"]) + 1)
            here = [cell for cell in here if _seed_of(cell) in seeds]
            if not here:
                raise BadInput(f"{folder} holds no finished run of seeds {part['seeds']}")
        found += here
    return list(dict.fromkeys(found))


def _seed_of(cell: Path) -> int:
    where = cell / "run.json"
    return whole(read_object(where), "seed", where)


def read_runs(folders: Sequence[Path]) -> tuple[RunResult, ...]:
    """Read all runs, refuse what cannot be compared, sort by method and seed.

    Seeds may have tasks of their own, as random streams have; all runs of a seed have the same.
    """
    if not folders:
        raise BadInput("no run folders given; name at least one folder that holds run.json")
    runs = sorted((read_run(folder) for folder in folders), key=rank)
    seen: dict[tuple[str, int], RunResult] = {}
    of_seed: dict[int, RunResult] = {}
    for run in runs:
        twin = seen.setdefault((run.method, run.seed), run)
        if twin is not run:
            raise BadInput(
                f"{twin.folder} and {run.folder} both hold {run.method} with seed {run.seed}; "
                "report one of them"
            )
        first = runs[0]
        for other in (first, of_seed.setdefault(run.seed, run)):
            if not _comparable(run, other):
                raise BadInput(
                    f"{other.folder} ({other.suite}) and {run.folder} ({run.suite}) have different "
                    "tasks; report them apart"
                )
        if (run.metrics is None) != (first.metrics is None):
            raise BadInput(
                f"one of {first.folder} and {run.folder} has rollouts and the other has none; "
                "report them apart"
            )
    return tuple(runs)


def same_tasks(runs: Sequence[RunResult]) -> bool:
    """Whether all runs have the same tasks, in whatever order; else seeds have streams."""
    return len({frozenset(run.tasks) for run in runs}) == 1


def read_run(folder: Path) -> RunResult:
    """Read one finished run folder."""
    if not (folder / "done.json").exists():
        raise BrokenFile(f"{folder} has no done.json: the run is unfinished; finish it first")
    about = read_object(folder / "run.json")
    where = folder / "run.json"
    tasks = as_list(about.get("tasks"), where)
    if not tasks or not all(isinstance(task, str) for task in tasks):
        raise BrokenFile(f"{where}: tasks are {tasks!r}; expected a list of names")
    episodes, losses = folder / "episodes.parquet", folder / "losses.parquet"
    with _naming(episodes):
        rows = _table(episodes)
        matrix = SuccessMatrix.from_episodes(rows, tasks=tasks)
        failures = final_failures(rows)
        metrics = continual_metrics(matrix) if matrix.cells else None
    with _naming(losses):
        measured = _table(losses)
        phases, by_task = phase_losses(measured), task_losses(measured)
        if metrics is None and not phases:
            raise BadInput("neither a rollout nor a held-out loss was measured; run it again")
    settings, timing = as_object(about.get("settings"), where), _timing(folder / "timing.json")
    budget, held = read_budget(about, where), read_certificate(folder / "budget.json")
    if budget is None and held.total_frames:
        raise BrokenFile(
            f"{where} names no budget, but the memory holds {held.total_frames} frames; "
            "run this cell again"
        )
    return RunResult(
        folder=folder,
        tasks=tuple(tasks),
        seed=whole(about, "seed", where),
        budget=budget,
        settings=settings,
        versions=as_object(about.get("versions"), where),
        matrix=matrix,
        metrics=metrics,
        phases=phases,
        task_losses=by_task,
        routing=read_routing(folder / "routing.json"),
        certificate=held,
        timing=timing,
        cost=read_cost(folder, timing, num_steps=planned_steps(settings, len(tasks))),
        instructions=_instructions(about, where),
        circumstances=read_circumstances(folder),
        clips=tuple(read_clips(folder)),
        failures=failures,
        **{name: text(about, name, where) for name in _TEXT_FIELDS},
    )


def read_budget(about: Mapping[str, Any], where: Path) -> Budget | None:
    """The budget that a `run.json` names; None for a method that keeps nothing."""
    if "budget" not in about:
        raise BrokenFile(
            f"{where} names no budget; a run of an earlier phaser is reported by that phaser"
        )
    if about["budget"] is None:
        return None
    with _naming(where):
        try:
            return Budget(**as_object(about["budget"], where))
        except TypeError as error:
            raise BrokenFile(f"{where}: the budget is {about['budget']!r} ({error})") from error


_TEXT_FIELDS = ("name", "suite", "preset", "method", "order", "commit", "command")


def _comparable(run: RunResult, other: RunResult) -> bool:
    """The same tasks; another seed of the same preset may have as many others."""
    if set(run.tasks) == set(other.tasks):
        return run.suite == other.suite
    alike = (run.suite, run.preset, len(run.tasks)) == (other.suite, other.preset, len(other.tasks))
    return alike and run.seed != other.seed


def rank(run: RunResult) -> tuple[int, int, str, int]:
    """The place of a run in a report: by method, then by seed."""
    known = run.method in METHOD_ORDER
    place = METHOD_ORDER.index(run.method) if known else len(METHOD_ORDER)
    return int(run.method == "joint"), place, run.method, run.seed


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Put the file's name in front of what is wrong with its rows."""
    try:
        yield
    except BrokenFile:
        raise
    except BadInput as error:
        raise BrokenFile(f"{path}: {error}") from error


def _instructions(about: Mapping[str, Any], where: Path) -> dict[str, str]:
    found = as_object(about.get("instructions", {}), where)
    return {task: text(found, task, where) for task in found}


def _table(path: Path) -> pa.Table:
    require_file(path)
    try:
        with pq.ParquetFile(path) as opened:
            return opened.read(use_threads=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise BrokenFile(f"{path} is not a readable parquet file ({error})") from error


def _timing(path: Path) -> dict[str, float]:
    timing = read_object(path)
    return {name: number(timing, name, path) for name in timing}
