"""Values for TensorBoard, Weights & Biases and MLflow, through Accelerate's trackers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from phaser.experiments.events import Event, Measured, Notify, Stepped
from phaser.experiments.provenance import leaves
from phaser.experiments.run import Run, settings_of

PROJECT = "phaser"


def tracked(
    accelerator: Accelerator, run: Run, folder: Path, num_learnt: int, notify: Notify
) -> Notify:
    """Start the trackers with all settings of the run, and tell them what whoever watches is told.

    num_learnt: tasks that an earlier process learnt.
    """
    plain = {
        name: value if isinstance(value, bool | int | float | str) else str(value)
        for name, value in leaves(settings_of(run)).items()
    }
    own = {
        "wandb": {"name": run.name, "dir": str(folder)},
        "mlflow": {"run_name": run.name},
    }
    accelerator.init_trackers(PROJECT, config=plain, init_kwargs=own)
    track = Tracking(accelerator=accelerator, steps_before=num_learnt * run.fit.steps_per_task)

    def both(event: Event) -> None:
        track(event)
        notify(event)

    return both


@dataclass(kw_only=True, eq=False)
class Tracking:
    """Turns what a cell tells into curves over training steps."""

    accelerator: Accelerator
    steps_before: int = 0
    """Training steps of the tasks that are learnt already."""
    _steps: int = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Stepped):
            self._steps = event.step
            self._log({"loss": event.loss})
        elif isinstance(event, Measured):
            self.steps_before, self._steps = self.steps_before + self._steps, 0
            self._log(_measured(event))

    def _log(self, values: dict[str, Any]) -> None:
        self.accelerator.log(values, step=self.steps_before + self._steps)


def _measured(event: Measured) -> dict[str, float]:
    """Success and held-out loss of each task, and the mean of both, after a task."""
    rates = {task: solved / tried for task, (solved, tried) in event.counts.items() if tried}
    values: dict[str, float] = {"tasks_learnt": event.index + 1}
    for name, found in (("success", rates), ("heldout_loss", dict(event.heldout))):
        values |= {f"{name}/{task}": value for task, value in found.items()}
        if found:
            values[f"{name}/mean"] = sum(found.values()) / len(found)
    return values
