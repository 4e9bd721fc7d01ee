"""Cells on a Ray cluster; with `ray_simulators` the only file that knows Ray.

Every node runs the same `run_cell` as the local engine, so results have the same bits on the same
kind of node. Results, recordings and features are in folders that all nodes share. A cell whose
process or node is lost is started again elsewhere and goes on from its last checkpoint.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from phaser import __version__
from phaser.core.demonstration import Task
from phaser.core.errors import BadInput, MissingDependency, PhaserError
from phaser.core.leases import LEASE_S
from phaser.core.ranges import at_least, check_ranges
from phaser.experiments.compatibility import LIBRARIES
from phaser.experiments.event_log import EVENTS, read_events
from phaser.experiments.events import Failed, Finished, failure_of
from phaser.experiments.grid import Job, Notify
from phaser.experiments.run import Run
from phaser.experiments.unrecorded import unrecorded
from phaser.experiments.versions import versions

POLL_S = 0.5
"""Between two looks at what cells have written down."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RayCluster:
    """Runs as many cells at a time as the cluster has room for."""

    address: str | None = None
    """Where the cluster is, such as auto or ray://head:10001; None: one on this machine."""
    cpus_per_cell: float = 1.0
    gpus_per_cell: float = 0.0
    """A share of a GPU that a cell needs; 0.5 lets two cells share one."""
    retries: int = 3
    """How often a cell whose process or node was lost is started again."""

    def __post_init__(self) -> None:
        check_ranges(
            self,
            cpus_per_cell=at_least(0),
            gpus_per_cell=at_least(0),
            retries=at_least(0, whole=True),
        )

    def __call__(self, jobs: Sequence[Job], notify: Notify) -> dict[str, Failed]:
        ray = library()
        here = [replace(job, folder=job.folder.absolute()) for job in jobs]
        with connected(ray, self.address), _mark(here[0].folder.parent) as mark:
            return _Cells(ray=ray, settings=self, notify=notify).run(here, mark)


@dataclass(kw_only=True, eq=False)
class _Cells:
    """What runs on the cluster, by its reference."""

    ray: Any
    settings: RayCluster
    notify: Notify
    failures: dict[str, Failed] = field(default_factory=dict)
    _running: dict[Any, Job] = field(default_factory=dict)
    _heard: dict[str, int] = field(default_factory=dict)
    """How much of each cell's log was told already."""

    def run(self, jobs: Sequence[Job], mark: Path) -> dict[str, Failed]:
        seen = _Seen(mark=mark, versions=_versions())
        preparing = self._prepare(jobs, seen)
        self._heard = {job.name: _size(job.folder / EVENTS) for job in jobs}
        start = self._remote(_run_cell)
        self._running = {start.remote(job, seen): job for job in jobs}
        try:
            while self._running:
                ready, _ = self.ray.wait(list(self._running), timeout=POLL_S)
                for job in self._running.values():
                    self._hear(job)
                for reference in ready:
                    self._ended(reference, self._running.pop(reference))
        finally:
            for reference in [*self._running, *preparing]:
                self.ray.cancel(reference, force=True)
        return self.failures

    def _prepare(self, jobs: Sequence[Job], seen: _Seen) -> list[Any]:
        """Record and encode what is missing, each task once; a cell that comes first waits."""
        prepare = self._remote(_prepare_task)
        return [
            prepare.remote(run, task, seen)
            for run, tasks in unrecorded([job.run for job in jobs])
            for task in tasks
        ]

    def _remote(self, function: Any) -> Any:
        settings = self.settings
        return self.ray.remote(function).options(
            num_cpus=settings.cpus_per_cell,
            num_gpus=settings.gpus_per_cell,
            max_retries=settings.retries,
        )

    def _hear(self, job: Job) -> None:
        """Tell what a cell wrote down since the last look."""
        logged, self._heard[job.name] = read_events(job.folder / EVENTS, self._heard[job.name])
        for one in logged:
            if not isinstance(one.event, Failed | Finished):
                self.notify(job.name, one.event)

    def _ended(self, reference: Any, job: Job) -> None:
        self._hear(job)
        try:
            failed = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            failed = Failed(
                message=f"its process or node was lost {self.settings.retries + 1} times "
                f"({type(error).__name__}); call the same command again to go on"
            )
        if failed is not None:
            self.failures[job.name] = failed
        self.notify(job.name, failed or Finished())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Seen:
    """What a node must see to give the same results: the shared folder, the same libraries."""

    mark: Path
    versions: Mapping[str, str | None]

    def require(self) -> None:
        if not self.mark.exists():
            raise BadInput(
                f"node {os.uname().nodename} does not see {self.mark.parent}; put --out and "
                "--cache on a disk that all nodes share"
            )
        here = _versions()
        if found := [name for name in here if here[name] != self.versions[name]]:
            words = ", ".join(f"{name} {here[name]}, not {self.versions[name]}" for name in found)
            raise PhaserError(
                f"node {os.uname().nodename} has {words}; install the same everywhere"
            )


def _run_cell(job: Job, seen: _Seen) -> Failed | None:
    """On a node: one cell to its end, from wherever a lost process left it."""
    from phaser.experiments.cell import run_cell

    try:
        seen.require()
        # A lost node's lease ends when it gave no sign of life for a while.
        run_cell(job.run, job.folder, traces=job.traces, wait_s=2 * LEASE_S)
    except Exception as error:
        return failure_of(error)
    return None


def _prepare_task(run: Run, task: Task, seen: _Seen) -> None:
    """On a node: record and encode one task."""
    from phaser.experiments.prepare import prepare_task

    seen.require()
    prepare_task(run.suite, run.policy, run.encoders, task)


def _versions() -> dict[str, str | None]:
    found = versions()
    return {"phaser": __version__} | {name: found.get(name) for name in LIBRARIES}


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextmanager
def _mark(folder: Path) -> Iterator[Path]:
    """A file by which a node knows that it sees the folder of the grid."""
    mark = folder / f".shared-{uuid.uuid4().hex}"
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


@contextmanager
def connected(ray: Any, address: str | None) -> Iterator[None]:
    """A connection for the time of some work; one that the program has already is used and kept."""
    if ray.is_initialized():
        yield
        return
    own: dict[str, Any] = {"include_dashboard": False} if address is None else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error", **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        first = str(error).partition("\n")[0]
        raise BadInput(
            f"no Ray cluster at {address or 'this machine'} ({first}); start one with "
            "`ray start --head`, or give its --address"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def library() -> ModuleType:
    """Ray, or a line that says what to install."""
    try:
        import ray
    except ImportError as error:
        raise MissingDependency(
            "the engine ray needs Ray; run: pip install 'phaser-vla[ray]'"
        ) from error
    module: ModuleType = ray
    return module
