"""Simulator processes: started when first needed, kept between evaluations, replaced when lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Protocol

from phaser.core.errors import BadInput
from phaser.core.suite import Suite
from phaser.evaluation.messages import Answer, Job, Question, Start

MODULE = "phaser.evaluation.simulator_process"
TIME_LIMIT_S = 120.0
"""Seconds in which a chunk of actions must be answered; it takes much less than one."""
LONGER_TO_START = 5
"""Factor on that limit while a simulator starts: it may have to be built and its
controller compiled first, on a machine that does much else."""
GRACE_S = 5.0
"""Seconds that a failing process gets to end after its last word."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Several simulators share the processor; their matrices are tiny."""


class SimulatorProcess(Protocol):
    """A simulator process, wherever it runs; messages go through its pipe."""

    pipe: Connection

    @property
    def pid(self) -> int | None:
        """Its number on this machine; None where it runs on another."""
        ...

    @property
    def is_alive(self) -> bool: ...

    def ended(self, within_s: float) -> str | None:
        """Its end, in words; None if it is still there when the time is over."""
        ...

    def last_words(self) -> str:
        """The last line that it printed."""
        ...

    def close(self) -> None:
        """End it at once; it holds nothing that would have to be saved."""
        ...


class LocalProcess:
    """A simulator process of this machine."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.running = Running(theirs.fileno())
        self.pipe = Connection(ours.detach())

    @property
    def pid(self) -> int | None:
        return self.running.process.pid

    @property
    def is_alive(self) -> bool:
        return self.running.process.poll() is None

    def ended(self, within_s: float) -> str | None:
        return self.running.ended(within_s)

    def last_words(self) -> str:
        return self.running.last_words()

    def close(self) -> None:
        self.pipe.close()
        self.running.close()


class Running:
    """`python -m phaser.evaluation.simulator_process`, which serves one open connection."""

    def __init__(self, descriptor: int) -> None:
        # Whatever the libraries leave behind goes with the process, however it ends.
        self._folder = tempfile.TemporaryDirectory(prefix="phaser-simulator-")
        # What they print must not tear the progress bar; its last line explains a crash.
        self._printed = Path(self._folder.name) / "printed"
        with self._printed.open("wb") as printed:
            self.process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(descriptor)],
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                env=_environment(self._folder.name),
            )

    def ended(self, within_s: float | None) -> str | None:
        """How it ended; None if it has not when the time is over."""
        try:
            code = self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            return None
        return f"ended with code {code}" if code >= 0 else f"was ended by {_signal(-code)}"

    def last_words(self) -> str:
        lines = self._printed.read_text(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._folder.cleanup()


Launch = Callable[[], SimulatorProcess]
"""Starts a simulator process."""


class Worker:
    """One simulator process, what it has built, and until when it has to answer."""

    def __init__(self, launch: Launch = LocalProcess, *, time_limit_s: float) -> None:
        self._time_limit_s = self._given_s = time_limit_s
        self._suite: Suite | None = None
        self.tasks: list[str] = []
        """Simulators that it has made; the one in use last."""
        self.deadline = float("inf")
        self._process = launch()
        self.pipe = self._process.pipe

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive

    def start(self, suite: Suite, job: Job) -> None:
        """Begin an episode; a simulator that is not there yet is made first."""
        if suite != self._suite:
            self._suite, self.tasks = suite, []
        self.tasks = [*(name for name in self.tasks if name != job.task.name), job.task.name]
        self.ask(Start(suite=suite, job=job))

    def ask(self, question: Question) -> None:
        """Send a message; a process that is gone is noticed when its answer is read."""
        times = LONGER_TO_START if isinstance(question, Start) else 1
        self._given_s = times * self._time_limit_s
        self.deadline = time.monotonic() + self._given_s
        with suppress(ConnectionError):
            self.pipe.send(question)

    def answer(self) -> Answer | None:
        """What it said; nothing if it is gone or has used up its time."""
        try:
            if not self.pipe.poll():
                return None
            answer: Answer = self.pipe.recv()
        except (EOFError, OSError):
            return None
        self.deadline = float("inf")
        return answer

    def end(self) -> str:
        """Kill it; what became of it and what it printed last, in one line."""
        grace_s = GRACE_S if self.deadline > time.monotonic() else 0.0
        what = self._process.ended(grace_s) or f"gave no answer within {self._given_s:g} s"
        words = self._process.last_words()
        self.close()
        return f"{what}; its last line: {words or 'none'}"

    def close(self) -> None:
        """End the process at once; it holds nothing that would have to be saved."""
        self._process.close()


class Simulators:
    """A pool of simulator processes; results do not depend on their number. Close it at the end."""

    def __init__(
        self,
        num_workers: int = 1,
        *,
        time_limit_s: float = TIME_LIMIT_S,
        launch: Launch = LocalProcess,
    ) -> None:
        if num_workers < 1 or time_limit_s <= 0:
            raise BadInput(
                f"{num_workers} simulators with {time_limit_s:g} s for an answer; "
                "expected at least 1, and more than 0 s"
            )
        self.num_workers = num_workers
        self._time_limit_s, self._launch = time_limit_s, launch
        self._workers: list[Worker] = []

    def __enter__(self) -> Simulators:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def is_running(self) -> bool:
        """True where a simulator process is there already."""
        return bool(self._workers)

    def ready(self, most: int) -> list[Worker]:
        """Processes, no more than there is work for."""
        wanted = min(most, self.num_workers)
        while len(self._workers) < wanted:
            self._workers.append(Worker(self._launch, time_limit_s=self._time_limit_s))
        return self._workers[:wanted]

    def replace(self, worker: Worker) -> Worker:
        """A new process in the place of one that is lost."""
        worker.close()
        new = Worker(self._launch, time_limit_s=self._time_limit_s)
        self._workers[self._workers.index(worker)] = new
        return new

    def close(self) -> None:
        """End all processes; the next evaluation would start new ones."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.close()


def available_cores() -> int:
    """How many simulators can run side by side."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _signal(number: int) -> str:
    return signal.Signals(number).name


def _environment(temporary: str) -> dict[str, str]:
    """Ours, so that the suite's own module is found in the same places, and no other module is."""
    places = os.pathsep.join(place or os.getcwd() for place in sys.path)
    own = {"PYTHONPATH": places, "PYTHONSAFEPATH": "1", "TMPDIR": temporary}
    return {**ONE_THREAD, **os.environ, **own}
