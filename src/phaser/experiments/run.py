"""The whole configuration of a run, as values that can be written down and read back.

Every fact is said once: names are derived, the budget is one value, and how demonstrations are cut
belongs to the method.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, BrokenFile, PhaserError
from phaser.core.files import read_json
from phaser.core.policy import PolicySettings
from phaser.core.ports import Segmenter
from phaser.core.ranges import COUNT, COUNT_OR_ZERO, at_least, check_ranges
from phaser.core.suite import Suite
from phaser.encoders.table import Encoders
from phaser.experiments.settings_files import converter
from phaser.experiments.tables import POLICIES, SUITES
from phaser.memory.budget import Budget
from phaser.memory.codec_names import DEFAULT_CODEC
from phaser.memory.codecs import ImageCodec
from phaser.methods.method import Method
from phaser.methods.table import METHODS
from phaser.phases.annotated import Annotated, Annotation, annotations_of
from phaser.phases.in_datasets import IN_DATASET, annotation_of
from phaser.training.fit import Fit


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """How many rollouts, and when. Initial states are the same for every method and checkpoint."""

    rollouts_per_task: int = 10
    """Rollouts of every task at the end of the stream."""
    learnt_rollouts: int = 5
    """Rollouts of a task when it has just been learnt."""
    earlier_rollouts: int = 0
    """Rollouts of every earlier task after each task: they show forgetting as it happens."""
    actions_per_look: int | None = None
    """Actions of a chunk that are carried out before the policy looks again; none: all of them."""

    def __post_init__(self) -> None:
        check_ranges(
            self,
            rollouts_per_task=COUNT,
            learnt_rollouts=COUNT,
            earlier_rollouts=COUNT_OR_ZERO,
            actions_per_look=at_least(1, whole=True, or_none=True),
        )
        if self.earlier_rollouts > self.rollouts_per_task:
            raise BadInput(
                f"earlier_rollouts {self.earlier_rollouts}; expected at most rollouts_per_task "
                f"{self.rollouts_per_task}"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Storage:
    """How kept frames are stored, and where rehearsed frames are read."""

    codec: str = DEFAULT_CODEC
    """How images are stored: raw, png, webp-lossless, or smaller and lossy: avif:80, jpeg:90,
    webp:80, h264:90 (clips of neighbouring frames; needs PyAV)."""
    rehearse_from: str = "recordings"
    """"recordings": from cached features of the recordings where they are there, which is the same
    to the bit, and quicker. "memory": from the stored frames alone. A lossy codec always rehearses
    what was stored."""

    def __post_init__(self) -> None:
        ImageCodec.parse(self.codec)
        if self.rehearse_from not in ("recordings", "memory"):
            raise BadInput(
                f"rehearse_from {self.rehearse_from!r}; expected 'recordings' or 'memory'"
            )

    @property
    def image_codec(self) -> ImageCodec:
        return ImageCodec.parse(self.codec)

    @property
    def reads_recordings(self) -> bool:
        """True where features of the recordings may stand in for stored frames."""
        return self.rehearse_from == "recordings" and self.image_codec.lossless


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One method learns one stream of tasks with one seed."""

    preset: str = "metaworld-10"
    """The name of the starting point, for provenance."""
    method: Method = METHODS["phaser"]
    suite: Suite = field(default_factory=lambda: SUITES["metaworld"]())
    policy: PolicySettings = field(default_factory=lambda: POLICIES["tiny"]())
    encoders: Encoders = field(default_factory=Encoders)
    phases: tuple[Annotation, ...] = ()
    """Phases by task that take the place of the segmenter's own; from a file with --phases."""
    budget: Budget | None = field(default_factory=Budget)
    """None for a method that keeps nothing."""
    fit: Fit = field(default_factory=Fit)
    evaluation: Evaluation = field(default_factory=Evaluation)
    storage: Storage = field(default_factory=Storage)
    seed: int = 0
    label: str = ""
    """Tells cells of a grid apart that differ in other settings; part of the name only."""

    def __post_init__(self) -> None:
        check_ranges(self, seed=COUNT_OR_ZERO)
        if self.phases:
            annotated = sorted(one.task for one in self.phases)
            names = sorted(task.name for task in self.suite.tasks())
            if annotated != names:
                raise BadInput(
                    f"phases of {', '.join(annotated)} for the tasks {', '.join(names)}; "
                    "name the file again with --phases"
                )
        keeps = self.method.keep.keeps_frames
        if keeps and self.budget is None:
            raise BadInput(f"{self.method.name} keeps frames and needs a budget; give --budget")
        if not keeps and self.budget is not None:
            object.__setattr__(self, "budget", None)

    def with_seed(self, seed: int) -> Run:
        """Another seed, and the stream of tasks that belongs to it."""
        return replace(self, seed=seed, suite=self.suite.for_seed(seed))

    def with_method(self, method: Method) -> Run:
        """Another method under the same budget, or the default one where there was none."""
        budget = self.budget if self.budget or not method.keep.keeps_frames else Budget()
        return replace(self, method=method, budget=budget)

    def with_budget(self, budget: Budget) -> Run:
        """Another budget; a method that keeps nothing stays as it is."""
        return replace(self, budget=budget if self.method.keep.keeps_frames else None)

    def with_phases(self, source: Path | str) -> Run:
        """Phases of a shipped annotation or a stage_info.json, which must know every task, or
        those that the datasets carry themselves ("dataset")."""
        tasks = self.suite.tasks()
        if source == IN_DATASET:
            recorded = self.suite.recorded_phases
            return replace(
                self, phases=tuple(annotation_of(one.name, recorded(one)) for one in tasks)
            )
        return replace(self, phases=annotations_of(source, tasks))

    def segmenter_of(self, task: str) -> Segmenter:
        """What cuts the demonstrations of a task: its annotation, else the method's segmenter."""
        if not self.phases:
            return self.method.segmenter
        (annotation,) = (one for one in self.phases if one.task == task)
        return Annotated(annotation=annotation, segmenter=self.method.segmenter)

    @property
    def method_name(self) -> str:
        """The method's name in the table, or that name with a mark where settings differ."""
        name = self.method.name
        if name in METHODS and METHODS[name] == self.method:
            return name
        settings = json.dumps(settings_of(self)["method"], sort_keys=True)
        return f"{name}~{hashlib.sha256(settings.encode()).hexdigest()[:4]}"

    @property
    def suite_kind(self) -> str:
        return SUITES.name_of(type(self.suite))

    @property
    def name(self) -> str:
        """The folder of this cell inside a grid."""
        order = "".join(c if c.isalnum() else "-" for c in self.suite.order).strip("-")
        size = self.budget.slug if self.budget else "0"
        codec = "" if self.storage.codec == Storage().codec else f"-{self.storage.codec}"
        name = f"{self.method_name}-b{size}{codec.replace(':', '')}-{order}-s{self.seed}"
        return f"{name}-{self.label}" if self.label else name


def settings_of(run: Run) -> dict[str, Any]:
    """The run as JSON, without the folder of this machine's cache and without an empty label."""
    settings: dict[str, Any] = converter().unstructure(run)
    settings["suite"].pop("cache", None)
    if not run.label:
        settings.pop("label")
    return settings


def run_from(settings: dict[str, Any], *, source: str) -> Run:
    """The run that these settings describe, or one line that says what does not fit."""
    import cattrs

    try:
        return converter().structure(settings, Run)
    except cattrs.errors.ClassValidationError as error:
        causes = "; ".join(cattrs.transform_error(error, format_exception=_in_words))
        raise BadInput(f"{source} does not describe a run: {causes}") from error


def _in_words(error: BaseException, kind: type[Any] | None) -> str:
    if isinstance(error, PhaserError):
        return str(error)
    import cattrs

    return cattrs.v.format_exception(error, kind)


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
