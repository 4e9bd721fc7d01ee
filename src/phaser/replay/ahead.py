"""Read the samples of the next step while the current one is trained on.

The frames of a step depend on (seed, task, step, number of processes) alone, so those of the next
are known already. Decoding images lets other threads run, and so costs a training loop nothing as
long as its own step takes longer.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

Read = Callable[[int, int], Any]
"""What belongs to (step, count)."""


@dataclass(kw_only=True, slots=True, eq=False)
class ReadAhead:
    """One thread that is one step ahead, once a count was asked for twice in a row.

    What it read for another step or count is dropped.
    """

    read: Read
    _thread: ThreadPoolExecutor | None = field(default=None, init=False)
    _last_count: int = field(default=0, init=False)
    _next: tuple[int, int] | None = field(default=None, init=False)
    _samples: Future[Any] | None = field(default=None, init=False)

    def __call__(self, step: int, count: int) -> Any:
        """The samples of this step; those of the next are read from now on."""
        if self._samples is not None and self._next == (step, count):
            samples = self._samples.result()
        else:
            samples = self.read(step, count)
        self._samples = None
        if count == self._last_count:
            self._begin(step + 1, count)
        self._last_count = count
        return samples

    def _begin(self, step: int, count: int) -> None:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="phaser-read-ahead")
        self._next = (step, count)
        self._samples = self._thread.submit(self.read, step, count)

    def close(self) -> None:
        """Wait for what is being read, and read no more."""
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
        self._thread = self._next = self._samples = None
