"""Many cells, by an engine; a grid that was stopped goes on where each of its cells was.

A cell that fails is reported and does not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from phaser.core.errors import PhaserError
from phaser.experiments.events import Event, Failed
from phaser.experiments.finished import check_budgets, is_finished
from phaser.experiments.run import Run
from phaser.experiments.traces import Traces

Notify = Callable[[str, Event], None]
"""Called with the name of a cell and what happened in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One cell that is to be run, and the folder for its results."""

    run: Run
    folder: Path
    traces: Traces

    @property
    def name(self) -> str:
        return self.run.name


class Engine(Protocol):
    """Runs cells somewhere; which engine it is changes no bit of a result."""

    def __call__(self, jobs: Sequence[Job], notify: Notify) -> dict[str, Failed]:
        """Run all jobs, tell what happens in them; what failed, by the cell's name."""
        ...


class CellsFailed(PhaserError):
    """Some cells of a grid failed; the others are finished."""

    exit_code = 1

    def __init__(self, failures: Mapping[str, Failed], finished: Sequence[Path]) -> None:
        self.failures, self.finished = dict(failures), list(finished)
        causes = "; ".join(f"{name}: {failed.message}" for name, failed in failures.items())
        total = len(failures) + len(finished)
        super().__init__(
            f"{len(failures)} of {total} cells failed ({causes}); mend that and call the same "
            "command again: it goes on with these"
        )


def run_grid(
    cells: Sequence[Run],
    out: Path,
    notify: Notify,
    *,
    num_workers: int = 2,
    budget_tolerance: float = 0.01,
    traces: Traces | None = None,
    engine: Engine | None = None,
) -> list[Path]:
    """Run what is not finished, several cells at a time; returns all cell folders.

    Args:
        cells: the runs, each with a name of its own.
        out: the folder of the grid; each cell has a folder of its name in it.
        notify: told what happens in which cell.
        num_workers: local processes, where no engine is given.
        budget_tolerance: how far the memories of compared methods may differ.
        traces: what cells leave beside their results.
        engine: what runs the cells; local processes if none is given.
    """
    from phaser.experiments.local_engine import LocalProcesses

    run = engine or LocalProcesses(num_workers=num_workers)
    jobs = [
        Job(run=cell, folder=out / cell.name, traces=traces or Traces())
        for cell in cells
        if not is_finished(cell, out / cell.name)
    ]
    failures = run(jobs, notify) if jobs else {}
    finished = [out / cell.name for cell in cells if cell.name not in failures]
    if failures:
        raise CellsFailed(failures, finished)
    check_budgets(finished, tolerance=budget_tolerance)
    return finished
