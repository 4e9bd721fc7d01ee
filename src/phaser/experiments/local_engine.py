"""Cells in processes of this machine, each of which keeps its simulators between cells."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from phaser.evaluation.simulators import Simulators
from phaser.experiments.cell import run_cell
from phaser.experiments.events import Event, Failed, Finished, failure_of
from phaser.experiments.grid import Job, Notify

LOST = (
    "its process was killed or ran out of memory; call the same command again to go on, with "
    "--workers 1 if memory is short"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalProcesses:
    """So many cells at a time."""

    num_workers: int = 2

    def __call__(self, jobs: Sequence[Job], notify: Notify) -> dict[str, Failed]:
        if self.num_workers <= 1 or len(jobs) <= 1:
            return _one_after_another(jobs, notify)
        pool = _Workers(queue=list(reversed(jobs)), notify=notify)
        return pool.run(min(self.num_workers, len(jobs)))


def _one_after_another(jobs: Sequence[Job], notify: Notify) -> dict[str, Failed]:
    """In this process."""
    failures: dict[str, Failed] = {}
    with Simulators() as simulators:
        for job in jobs:
            try:
                _run(job, partial(notify, job.name), simulators)
            except Exception as error:
                failures[job.name] = failure_of(error)
                notify(job.name, failures[job.name])
    return failures


def _run(job: Job, notify: Any, simulators: Simulators) -> None:
    run_cell(job.run, job.folder, notify, simulators=simulators, traces=job.traces)


@dataclass(kw_only=True, eq=False)
class _Workers:
    """Worker processes by their pipes, the job of each, and the jobs that wait."""

    queue: list[Job]
    notify: Notify
    failures: dict[str, Failed] = field(default_factory=dict)
    _processes: dict[Connection, Any] = field(default_factory=dict)
    _jobs: dict[Connection, Job | None] = field(default_factory=dict)
    _ending: list[Any] = field(default_factory=list)
    """Processes without a further job; torch takes a while to be unloaded."""

    def run(self, num_workers: int) -> dict[str, Failed]:
        try:
            for _ in range(num_workers):
                self._start_worker()
            while self._processes:
                for pipe in wait(list(self._processes)):
                    assert isinstance(pipe, Connection)
                    self._hear(pipe)
        finally:
            for worker in self._processes.values():
                # Not terminate: that would let its rollouts finish, and cells may end anywhere.
                worker.kill()
        for worker in self._ending:
            worker.join()
        return self.failures

    def _start_worker(self) -> None:
        """One more process, with the next job; none where no job waits."""
        if not self.queue:
            return
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        worker = context.Process(target=_then_end, args=(_work, theirs), daemon=True)
        with _interrupts_blocked():
            worker.start()
        theirs.close()
        self._processes[ours] = worker
        self._give(ours)

    def _give(self, pipe: Connection) -> None:
        """The next job, or the end."""
        job = self._jobs[pipe] = self.queue.pop() if self.queue else None
        try:
            pipe.send(job)
        except ConnectionError:
            return  # it is gone, which is noticed when its pipe is read
        if job is None:
            # Waited for last: what the other cells tell meanwhile would come late.
            self._ending.append(self._processes.pop(pipe))

    def _hear(self, pipe: Connection) -> None:
        job = self._jobs[pipe]
        try:
            event: Event = pipe.recv()
        except (EOFError, OSError):
            self._processes.pop(pipe).join()
            if job is not None:
                self._failed(job, Failed(message=LOST))
            self._start_worker()
            return
        assert job is not None
        if isinstance(event, Failed):
            self._failed(job, event)
        else:
            self.notify(job.name, event)
        if isinstance(event, Failed | Finished):
            self._give(pipe)

    def _failed(self, job: Job, failed: Failed) -> None:
        self.failures[job.name] = failed
        self.notify(job.name, failed)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Ctrl-C reaches parent and workers alike; workers inherit this, so only the parent answers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _then_end(work: Callable[[Connection], None], pipe: Connection) -> None:
    """Work, and end at once: torch and the simulators' libraries take seconds to be unloaded."""
    work(pipe)
    # All is on disk by now, and nothing of ours waits for the interpreter's end.
    os._exit(0)


def _work(pipe: Connection) -> None:
    with Simulators() as simulators:
        while (job := pipe.recv()) is not None:
            try:
                _run(job, partial(_tell, pipe), simulators)
                pipe.send(Finished())
            except Exception as error:
                pipe.send(failure_of(error))
            # A finished cell is a cycle that maps its features; freed now, not when Python gets
            # to it.
            gc.collect()


def _tell(pipe: Connection, event: Event) -> None:
    """Pass on what happens; the end is told when all of the cell is closed."""
    if not isinstance(event, Finished):
        pipe.send(event)
