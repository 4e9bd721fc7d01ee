"""The whole configuration of a run, as values that can be written down and read back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cattrs
from cattrs.strategies import configure_tagged_union

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json
from phaser.methods.method import DrawRule, KeepRule, Method
from phaser.methods.table import METHODS
from phaser.phases.autopc import AutoPC
from phaser.policies.tiny import Tiny
from phaser.suites.metaworld import MetaWorld
from phaser.training.fit import Fit


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """How many rollouts, and when. Initial states are the same for every method and checkpoint."""

    rollouts_per_task: int = 10
    """For every task at the end of the stream."""
    learnt_rollouts: int = 5
    """For a task when it has just been learnt."""
    earlier_rollouts: int = 0
    """For every earlier task after each task: shows forgetting as it happens, costs time."""

    def __post_init__(self) -> None:
        fits = 0 <= self.earlier_rollouts <= self.rollouts_per_task
        if not fits or self.rollouts_per_task < 1 or self.learnt_rollouts < 1:
            raise BadInput(
                f"rollouts_per_task {self.rollouts_per_task}, learnt_rollouts "
                f"{self.learnt_rollouts}, earlier_rollouts {self.earlier_rollouts}; expected at "
                "least 1, at least 1, and between 0 and rollouts_per_task"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One method learns one stream of tasks with one seed."""

    preset: str = "metaworld-10"
    method_name: str = "phaser"
    method: Method = METHODS["phaser"]
    suite: MetaWorld = field(default_factory=MetaWorld)
    policy: Tiny = field(default_factory=Tiny)
    segmenter: AutoPC = field(default_factory=AutoPC)
    fit: Fit = field(default_factory=Fit)
    evaluation: Evaluation = field(default_factory=Evaluation)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise BadInput(f"seed {self.seed}; expected 0 or more")

    def with_method(self, name: str, method: Method) -> Run:
        """Another method; how boundaries reach all demonstrations is part of the method."""
        segmenter = replace(self.segmenter, boundaries=method.boundaries)
        return replace(self, method_name=name, method=method, segmenter=segmenter)

    @property
    def frames_per_task(self) -> int:
        return self.method.keep.frames_per_task

    @property
    def name(self) -> str:
        """The folder of this cell inside a grid."""
        order = "".join(c if c.isalnum() else "-" for c in self.suite.order).strip("-")
        return f"{self.method_name}-b{self.frames_per_task}-{order}-s{self.seed}"


def converter() -> cattrs.Converter:
    """Values to plain JSON and back; a rule carries its own name, unknown keys are refused."""
    made = cattrs.Converter(forbid_extra_keys=True)
    made.register_unstructure_hook(Path, str)
    made.register_structure_hook(Path, lambda value, _: Path(value))
    made.register_structure_hook(
        str | tuple[str, ...], lambda value, _: value if isinstance(value, str) else tuple(value)
    )
    for union in (KeepRule, DrawRule):
        configure_tagged_union(union, made, tag_name="rule")
    return made


def settings_of(run: Run) -> dict[str, Any]:
    """The run as JSON, without the folder of this machine's cache."""
    settings: dict[str, Any] = converter().unstructure(run)
    settings["suite"].pop("cache")
    return settings


def run_from(settings: dict[str, Any], *, source: str) -> Run:
    """The run that these settings describe, or one line that says what does not fit."""
    made = converter()
    try:
        return made.structure(settings, Run)
    except cattrs.errors.ClassValidationError as error:
        causes = "; ".join(cattrs.transform_error(error))
        raise BadInput(f"{source} does not describe a run: {causes}") from error


def run_from_file(path: Path) -> Run:
    """Repeat a run from its `run.json`."""
    written = read_json(path)
    if not isinstance(written, dict) or "settings" not in written:
        raise BrokenFile(f"{path} has no 'settings'; expected the run.json of a run folder")
    return run_from(written["settings"], source=str(path))
