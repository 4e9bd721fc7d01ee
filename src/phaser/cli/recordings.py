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

    def __init__(self, run: Run, tasks: Sequence[Task], watch: Watch, *, num_workers: int) -> None:
        self._run, self._tasks, self._watch = run, tasks, watch
        if tasks:
            watch.expect_recordings(
                [task.name for task in tasks], run.suite.demos_to_record(tasks[0])
            )
        self._num_workers = min(num_workers, max(1, len(tasks)))
        # Ctrl-C reaches the whole group of processes; only the parent answers it. A thread's
        # signal mask is inherited by the processes it starts.
        self._thread = ThreadPoolExecutor(1, initializer=block_interrupts)

    def __enter__(self) -> BackgroundRecorder:
        self._work = self._thread.submit(self._record) if self._tasks else None
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

        prefetch(
            self._run.suite,
            self._run.policy,
            self._run.encoders,
            self._tasks,
            lambda task: self._watch.recorded(task.name),
            told=self._watch.recording,
            num_workers=self._num_workers,
        )


def block_interrupts() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
