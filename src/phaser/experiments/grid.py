"""Many cells in local processes; a grid that was stopped goes on where each of its cells was."""

from __future__ import annotations

import gc
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from phaser.core.errors import PhaserError
from phaser.evaluation.simulators import Simulators
from phaser.experiments.cell import run_cell
from phaser.experiments.events import Event, Failed, Finished
from phaser.experiments.finished import check_budgets, is_finished
from phaser.experiments.run import Run
from phaser.experiments.traces import Traces

Notify = Callable[[str, Event], None]
"""Called with the name of a cell and what happened in it."""


def run_grid(
    cells: Sequence[Run],
    out: Path,
    notify: Notify,
    *,
    num_workers: int = 2,
    budget_tolerance: float = 0.01,
    traces: Traces | None = None,
) -> list[Path]:
    """Run what is not finished, several cells at a time; returns all cell folders."""
    left = traces or Traces()
    folders = [out / cell.name for cell in cells]
    todo = [
        (cell, folder)
        for cell, folder in zip(cells, folders, strict=True)
        if not is_finished(cell, folder)
    ]
    if num_workers <= 1 or len(todo) <= 1:
        with Simulators() as simulators:
            for cell, folder in todo:
                tell = partial(notify, cell.name)
                run_cell(cell, folder, tell, simulators=simulators, traces=left)
    else:
        _in_workers(todo, notify, min(num_workers, len(todo)), left)
    check_budgets(folders, tolerance=budget_tolerance)
    return folders


def _in_workers(
    todo: list[tuple[Run, Path]], notify: Notify, num_workers: int, traces: Traces
) -> None:
    """Workers take one cell after the other and keep their simulators in between."""
    context = get_context("spawn")
    queue = list(reversed(todo))
    pipes: dict[Connection, Any] = {}
    try:
        for _ in range(num_workers):
            ours, theirs = context.Pipe()
            worker = context.Process(target=_work, args=(theirs, traces), daemon=True)
            with _interrupts_blocked():
                worker.start()
            theirs.close()
            pipes[ours] = worker
            ours.send(queue.pop())
        while pipes:
            for pipe in wait(list(pipes)):
                assert isinstance(pipe, Connection)
                _answer(pipe, pipes, queue, notify)
    finally:
        for worker in pipes.values():
            # Not terminate: that would let its rollouts finish, and cells may end anywhere.
            worker.kill()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Ctrl-C reaches parent and workers alike; workers inherit this, so only the parent answers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _answer(
    pipe: Connection, pipes: dict[Connection, Any], queue: list[tuple[Run, Path]], notify: Notify
) -> None:
    try:
        name, event = pipe.recv()
    except EOFError:
        raise PhaserError(
            "a worker process ended without a word (killed, or out of memory); "
            "call the same command again to go on, or use --workers 1"
        ) from None
    if isinstance(event, Failed):
        if event.traceback:
            raise RuntimeError(f"cell {name} crashed:\n{event.traceback}")
        raise PhaserError(f"{name}: {event.message}")
    notify(name, event)
    if isinstance(event, Finished):
        if queue:
            pipe.send(queue.pop())
        else:
            pipe.send(None)
            pipes.pop(pipe).join()


def _work(pipe: Connection, traces: Traces) -> None:
    with Simulators() as simulators:
        while (job := pipe.recv()) is not None:
            run, folder = job
            _run_one(pipe, run, folder, simulators, traces)
            # A finished cell is a cycle that maps its features; freed now, not when Python gets
            # to it.
            gc.collect()


def _run_one(
    pipe: Connection, run: Run, folder: Path, simulators: Simulators, traces: Traces
) -> None:
    name = run.name

    def tell(event: Event) -> None:
        pipe.send((name, event))

    try:
        run_cell(run, folder, tell, simulators=simulators, traces=traces)
    except PhaserError as error:
        pipe.send((name, Failed(message=str(error))))
        raise SystemExit from None
    except BaseException as error:
        pipe.send((name, Failed(message=str(error), traceback=traceback.format_exc())))
        raise
