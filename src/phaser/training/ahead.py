"""Build the inputs of the next steps while the policy computes this one.

One thread reads frames and prepares images, in the order of the steps: what a step is trained on
depends on (seed, task, step) alone, so being early changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Made = TypeVar("Made")


@contextmanager
def made_ahead(
    make: Callable[[int], Made], steps: range, *, ahead: int
) -> Iterator[Iterator[tuple[int, Made]]]:
    """Each step with what `make` makes for it; up to `ahead` of them early, 0: none."""
    if not ahead:
        yield ((step, make(step)) for step in steps)
        return
    thread = ThreadPoolExecutor(1, thread_name_prefix="phaser-inputs")
    try:
        yield _early(make, steps, ahead, thread)
    finally:
        thread.shutdown(cancel_futures=True)


def _early(
    make: Callable[[int], Made], steps: range, ahead: int, thread: ThreadPoolExecutor
) -> Iterator[tuple[int, Made]]:
    waiting: deque[tuple[int, Future[Made]]] = deque()
    for step in steps:
        waiting.append((step, thread.submit(make, step)))
        if len(waiting) > ahead:
            due, made = waiting.popleft()
            yield due, made.result()
    for due, made in waiting:
        yield due, made.result()
