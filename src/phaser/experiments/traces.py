"""Traces that a cell leaves beside its results; none of them changes a bit of these."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass

from phaser.core.errors import MissingDependency, UnknownName
from phaser.core.ranges import COUNT_OR_ZERO, check_ranges

MLFLOW_SERVER = "MLFLOW_TRACKING_URI"
TRACKERS = ("tensorboard", "wandb", "mlflow")


@dataclass(frozen=True, kw_only=True, slots=True)
class Traces:
    """What is asked for."""

    clips_per_task: int = 0
    """Rollouts of each task that are filmed after each stage of training."""
    trackers: tuple[str, ...] = ()
    """Trackers that are told losses and success, by Accelerate's names."""

    def __post_init__(self) -> None:
        check_ranges(self, clips_per_task=COUNT_OR_ZERO)
        for name in self.trackers:
            if name not in TRACKERS:
                raise UnknownName("tracker", name, TRACKERS)


def require_trackers(names: Sequence[str]) -> None:
    """Refuse a tracker whose library is missing, which Accelerate would leave out in silence."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise MissingDependency(f"--track {name} needs its library; run: pip install {name}")
    # Without a server MLflow writes into a database file, which its small package cannot.
    nowhere = MLFLOW_SERVER not in os.environ and importlib.util.find_spec("sqlalchemy") is None
    if "mlflow" in names and nowhere:
        raise MissingDependency(
            f"--track mlflow has nowhere to write; run: pip install mlflow, or set {MLFLOW_SERVER} "
            "to the address of a server"
        )
