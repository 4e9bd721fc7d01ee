"""Learners that make one step each in turn, so that load and heat hit all methods alike."""

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.ports import Probe, VirtualStep

M_ARENA_MAX = -8


@dataclass(eq=False)
class TimedProbe:
    """Passes questions on and notes the processor time that the answers took."""

    probe: Probe
    taken_ns: int = 0
    calls: int = 0

    @property
    def num_steps(self) -> int | None:
        return self.probe.num_steps

    def __call__(self, refs: Sequence[FrameRef]) -> np.ndarray:
        return self._timed(lambda: self.probe(refs))

    def interference(
        self,
        refs: Sequence[FrameRef],
        *,
        step: int,
        learning_rate: float,
        variant: VirtualStep = "virtual",
    ) -> np.ndarray:
        return self._timed(
            lambda: self.probe.interference(
                refs, step=step, learning_rate=learning_rate, variant=variant
            )
        )

    def forget(self) -> None:
        self.taken_ns = self.calls = 0

    def _timed(self, ask: Callable[[], np.ndarray]) -> np.ndarray:
        begin = time.thread_time_ns()
        answer = ask()
        self.taken_ns += time.thread_time_ns() - begin
        self.calls += 1
        return answer


@dataclass(eq=False)
class SilentProbe:
    """Answers nothing but zeros: which questions are asked can be counted without a policy."""

    calls: int = 0
    num_steps: int | None = None

    def __call__(self, refs: Sequence[FrameRef]) -> np.ndarray:
        self.calls += 1
        return np.zeros(len(refs))

    def interference(self, refs: Sequence[FrameRef], **how: object) -> np.ndarray:
        return self(refs)


@dataclass(eq=False)
class Turn:
    """One learner in a thread of its own; give it to the learner as its progress."""

    probe: TimedProbe
    step_ms: list[float] = field(default_factory=list)
    """Without what measuring took."""
    measuring_ms: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._go, self._stop = threading.Semaphore(0), threading.Semaphore(0)
        self._error: BaseException | None = None
        self._began_ns = 0

    def start(self, learn: Callable[[], object]) -> None:
        threading.Thread(target=self._run, args=(learn,), daemon=True).start()

    def go_on(self) -> None:
        """Let it make one step, or come to its end after the last."""
        self._go.release()
        self._stop.acquire()
        if self._error is not None:
            raise self._error

    def __call__(self, step: int, steps: int, loss: float) -> None:
        whole = (time.thread_time_ns() - self._began_ns) / 1e6
        measuring = self.probe.taken_ns / 1e6
        self.step_ms.append(whole - measuring)
        self.measuring_ms.append(measuring)
        self.probe.taken_ns = 0
        self._stop.release()
        self._wait()

    def _wait(self) -> None:
        self._go.acquire()
        self._began_ns = time.thread_time_ns()

    def _run(self, learn: Callable[[], object]) -> None:
        self._wait()
        try:
            learn()
        except BaseException as error:
            self._error = error
        finally:
            self._stop.release()


def share_one_heap() -> None:
    """Threads that never run at once need no heap each; glibc's would keep all that was freed."""
    library = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
    if hasattr(library, "mallopt"):
        library.mallopt(M_ARENA_MAX, 1)


def take_turns(
    turns: Mapping[str, Turn], *, rounds: int, told: Callable[[int], None] = lambda number: None
) -> None:
    """Every learner makes a step per round; who begins changes from round to round."""
    names = list(turns)
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                turns[name].go_on()
            told(number + 1)
    finally:
        gc.enable()
    for turn in turns.values():
        turn.go_on()
