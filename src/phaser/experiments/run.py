"""The whole configuration of a run, as values that can be written down and read back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cattrs
from cattrs.strategies import configure_tagged_union

from phaser.core.errors import BadInput, BrokenFile, UnknownName
from phaser.core.files import read_json
from phaser.core.ports import Segmenter
from phaser.memory.codecs import ImageCodec
from phaser.memory.nothing import Nothing
from phaser.memory.reservoir import Reservoir
from phaser.methods.method import DrawRule, KeepRule, Method, PenaltyRule
from phaser.methods.table import METHODS
from phaser.phases.annotated import Annotated, Annotation, stages_of
from phaser.phases.autopc import AutoPC
from phaser.policies.tiny import Tiny
from phaser.suites.libero.suite import Libero
from phaser.suites.metaworld.suite import MetaWorld
from phaser.training.fit import Fit

AnySuite = MetaWorld | Libero
SUITES: dict[str, type[AnySuite]] = {"metaworld": MetaWorld, "libero": Libero}

UNUSED_FRAMES = Reservoir().frames_per_task
"""What a method's rule says where a budget in bytes decides: always the same, its default."""


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
class Storage:
    """How kept frames are stored, and the bytes of a task where that is the budget."""

    codec: str = str(ImageCodec())
    """Of the images: raw, png or webp-lossless."""
    bytes_per_task: int | None = None
    """Encoded; where it is given, it takes the place of the method's `frames_per_task`."""

    def __post_init__(self) -> None:
        if not ImageCodec.parse(self.codec).lossless:
            raise BadInput(
                f"codec {self.codec!r} changes pixels, but a run trains on features of the "
                "recorded ones, so its loss would not be seen; use raw, png or webp-lossless"
            )
        if self.bytes_per_task is not None and self.bytes_per_task < 1:
            raise BadInput(f"a budget of {self.bytes_per_task} bytes per task; expected at least 1")


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One method learns one stream of tasks with one seed."""

    preset: str = "metaworld-10"
    method_name: str = "phaser"
    method: Method = METHODS["phaser"]
    suite: AnySuite = field(default_factory=MetaWorld)
    policy: Tiny = field(default_factory=Tiny)
    segmenter: AutoPC = field(default_factory=AutoPC)
    annotations: tuple[Annotation, ...] = ()
    """Phases by task that take the place of Auto-PC's own; from a file with --phases."""
    fit: Fit = field(default_factory=Fit)
    evaluation: Evaluation = field(default_factory=Evaluation)
    storage: Storage = field(default_factory=Storage)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise BadInput(f"seed {self.seed}; expected 0 or more")
        if self.annotations:
            annotated = sorted(one.task for one in self.annotations)
            names = sorted(task.name for task in self.suite.tasks())
            if annotated != names:
                raise BadInput(
                    f"phases of {', '.join(annotated)} for the tasks {', '.join(names)}; "
                    "name the file again with --phases"
                )
        frames = self.method.keep.frames_per_task
        if self.bytes_per_task is not None and frames != UNUSED_FRAMES:
            raise BadInput(
                f"a budget of {self.bytes_per_task} bytes and one of {frames} frames per task; "
                "give one of them"
            )

    def with_method(self, name: str, method: Method) -> Run:
        """Another method; how boundaries reach all demonstrations is part of the method."""
        segmenter = replace(self.segmenter, boundaries=method.boundaries)
        keeps = not isinstance(method.keep, Nothing)
        storage = self.storage if keeps else replace(self.storage, bytes_per_task=None)
        return replace(self, method_name=name, method=method, segmenter=segmenter, storage=storage)

    def with_frames(self, frames_per_task: int) -> Run:
        """A budget in frames, whatever it was counted in before."""
        run = replace(self, storage=replace(self.storage, bytes_per_task=None))
        return run.with_method(run.method_name, run.method.with_budget(frames_per_task))

    def with_bytes(self, bytes_per_task: int) -> Run:
        """A budget in encoded bytes; a method that keeps nothing stays as it is."""
        storage = replace(self.storage, bytes_per_task=bytes_per_task)
        if isinstance(self.method.keep, Nothing):
            return self
        return replace(self, method=self.method.with_budget(UNUSED_FRAMES), storage=storage)

    def with_phases(self, path: Path) -> Run:
        """The phases of a stage_info.json, which must know every task of the run."""
        tasks = self.suite.tasks()
        found = (Annotation(task=task.name, phases=stages_of(path, task).phases) for task in tasks)
        return replace(self, annotations=tuple(found))

    def segmenter_of(self, task: str) -> Segmenter:
        """What cuts the demonstrations of a task: its annotation, else Auto-PC."""
        if not self.annotations:
            return self.segmenter
        (annotation,) = (one for one in self.annotations if one.task == task)
        return Annotated(annotation=annotation, auto=self.segmenter)

    @property
    def most_phases(self) -> int:
        """No task is cut into more."""
        return max((len(one.phases) for one in self.annotations), default=self.segmenter.max_phases)

    @property
    def frames_per_task(self) -> int:
        """0 where nothing is kept, or as much as fits into a budget in bytes."""
        return 0 if self.bytes_per_task else self.method.keep.frames_per_task

    @property
    def bytes_per_task(self) -> int | None:
        return self.storage.bytes_per_task

    @property
    def name(self) -> str:
        """The folder of this cell inside a grid."""
        order = "".join(c if c.isalnum() else "-" for c in self.suite.order).strip("-")
        size = f"{self.bytes_per_task}bytes" if self.bytes_per_task else self.frames_per_task
        codec = "" if self.storage.codec == Storage().codec else f"-{self.storage.codec}"
        return f"{self.method_name}-b{size}{codec}-{order}-s{self.seed}"


def converter() -> cattrs.Converter:
    """Values to plain JSON and back; a rule carries its own name, unknown keys are refused."""
    made = cattrs.Converter(forbid_extra_keys=True)
    made.register_unstructure_hook(Path, str)
    made.register_structure_hook(Path, lambda value, _: Path(value))
    made.register_structure_hook(
        str | tuple[str, ...], lambda value, _: value if isinstance(value, str) else tuple(value)
    )
    for union in (KeepRule, DrawRule, PenaltyRule):
        configure_tagged_union(union, made, tag_name="rule")
    made.register_unstructure_hook(AnySuite, lambda suite: _suite_to_json(made, suite))
    made.register_structure_hook(AnySuite, lambda value, _: _suite_from_json(made, value))
    return made


def _suite_to_json(made: cattrs.Converter, suite: AnySuite) -> dict[str, Any]:
    kind = Libero if isinstance(suite, Libero) else MetaWorld
    return {"kind": suite.kind, **made.unstructure(suite, unstructure_as=kind)}


def _suite_from_json(made: cattrs.Converter, value: dict[str, Any]) -> AnySuite:
    """Runs from before there were two suites do not say which."""
    fields = dict(value)
    kind = fields.pop("kind", "metaworld")
    if kind not in SUITES:
        raise UnknownName("kind of suite", kind, SUITES)
    suite: AnySuite = made.structure(fields, SUITES[kind])
    return suite


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


def settings_in(path: Path) -> dict[str, Any]:
    """The settings in a `run.json`, not yet looked at."""
    written = read_json(path)
    settings = written.get("settings") if isinstance(written, dict) else None
    if not isinstance(settings, dict):
        raise BrokenFile(f"{path} has no 'settings'; expected the run.json of a run folder")
    return settings


def run_from_file(path: Path) -> Run:
    """Repeat a run from its `run.json`."""
    return run_from(settings_in(path), source=str(path))
