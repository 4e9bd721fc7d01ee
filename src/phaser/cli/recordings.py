"""Demonstrations recorded in background processes, in task order, while learning already starts."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children
from types import TracebackType

from phaser.cli.progress import Watch
from phaser.core.demonstration import Task
from phaser.core.errors import PhaserError
from phaser.core.files import require_writable
from phaser.experiments.run import Run


def require_suite(run: Run) -> None:
    """Check what every run needs of this machine, before anything starts."""
    run.suite.require()
    require_writable(run.suite.cache)


class BackgroundRecorder:
    """Records in its own processes; a cell that needs a task earlier waits for it by itself."""

    def __init__(
        self, todo: Sequence[tuple[Run, Sequence[Task]]], watch: Watch, *, num_workers: int
    ) -> None:
        self._todo, self._watch, self._num_workers = todo, watch, num_workers
        if todo:
            run, tasks = todo[0]
            names = [task.name for _, some in todo for task in some]
            watch.expect_recordings(names, run.suite.demos_to_record(tasks[0]))
        # Ctrl-C reaches the whole group of processes; only the parent answers it. A thread's
        # signal mask is inherited by the processes it starts.
        self._thread = ThreadPoolExecutor(1, initializer=block_interrupts)

    def __enter__(self) -> BackgroundRecorder:
        self._work = self._thread.submit(self._record) if self._todo else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.wait()
        while self._work is not None and not self._work.done():
            for child in active_children():
                child.terminate()
            time.sleep(0.05)
        self._thread.shutdown()

    def wait(self) -> None:
        """Wait until all is recorded."""
        while self._work is not None and not self._work.done():
            time.sleep(0.1)
        self.check()

    def check(self) -> None:
        """Raise the error that a recording process ended with, if one did."""
        if self._work is None or not self._work.done():
            return
        try:
            self._work.result()
        except BrokenProcessPool as error:
            raise PhaserError(
                "a recording process was killed or ran out of memory; "
                "call the same command again, with --workers 1 if memory is short"
            ) from error

    def _record(self) -> None:
        from phaser.experiments.prepare import prefetch

        for run, tasks in self._todo:
            prefetch(
                run.suite,
                run.policy,
                run.encoders,
                tasks,
                lambda task: self._watch.recorded(task.name),
                told=self._watch.recording,
                num_workers=min(self._num_workers, len(tasks)),
            )


def block_interrupts() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
