"""`stage_info.json`: annotated phases of tasks as ratios of their demonstrations.

{"open_drawer": {"instruction": "open the drawer", "source": "human", "phases":
 [{"name": "approach", "start_ratio": 0.0, "end_ratio": 0.85}, …]}}. The phases tile [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json, write_json
from phaser.core.segmentation import Segmentation
from phaser.phases.transfer import by_ratio

_ROUNDING = 1e-6
_TASK_KEYS = {"instruction", "source", "phases"}
_PHASE_KEYS = {"name", "start_ratio", "end_ratio"}


@dataclass(frozen=True, kw_only=True, slots=True)
class RatioPhase:
    """One phase as a share of the demonstration, `end_ratio` excluded."""

    name: str
    start_ratio: float
    end_ratio: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RatioSegmenter:
    """Applies the same ratios to every demonstration, as the paper does."""

    phases: tuple[RatioPhase, ...]

    def __post_init__(self) -> None:
        _check_tiling(self.phases)

    def segment(self, demos: Sequence[Demo]) -> tuple[Segmentation, ...]:
        ratios = [phase.start_ratio for phase in self.phases[1:]]
        names = [phase.name for phase in self.phases]
        return tuple(
            Segmentation.from_boundaries(
                by_ratio(ratios, num_frames=demo.num_frames, min_phase_frames=1),
                num_frames=demo.num_frames,
                labels=names,
            )
            for demo in demos
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskStages:
    """The annotation of one task and who made it."""

    instruction: str
    phases: tuple[RatioPhase, ...]
    source: str

    def __post_init__(self) -> None:
        _check_tiling(self.phases)

    def segmenter(self) -> RatioSegmenter:
        return RatioSegmenter(phases=self.phases)


def write_stage_info(path: Path, tasks: Mapping[str, TaskStages]) -> None:
    write_json(path, {name: _to_json(stages) for name, stages in tasks.items()})


def read_stage_info(path: Path) -> dict[str, TaskStages]:
    """The annotated tasks by name; anything missing, unknown or not tiling [0, 1] is refused."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise BrokenFile(f"{path} holds {type(content).__name__}; expected one object per task")
    tasks = {}
    for name, entry in content.items():
        where = f"{path}, task {name!r}"
        _check_keys(entry, _TASK_KEYS, where)
        if not isinstance(entry["phases"], list):
            raise BrokenFile(f"{where}: 'phases' is not a list")
        try:
            tasks[name] = TaskStages(
                instruction=_text(entry["instruction"], f"{where}: instruction"),
                source=_text(entry["source"], f"{where}: source"),
                phases=tuple(_phase(phase, where) for phase in entry["phases"]),
            )
        except BrokenFile:
            raise
        except BadInput as error:
            raise BrokenFile(f"{where}: {error}") from error
    return tasks


def _to_json(stages: TaskStages) -> dict[str, Any]:
    phases = [
        {"name": phase.name, "start_ratio": phase.start_ratio, "end_ratio": phase.end_ratio}
        for phase in stages.phases
    ]
    return {"instruction": stages.instruction, "source": stages.source, "phases": phases}


def _phase(entry: Any, where: str) -> RatioPhase:
    _check_keys(entry, _PHASE_KEYS, f"{where}, phase")
    return RatioPhase(
        name=_text(entry["name"], f"{where}: phase name"),
        start_ratio=_ratio(entry["start_ratio"], f"{where}: start_ratio"),
        end_ratio=_ratio(entry["end_ratio"], f"{where}: end_ratio"),
    )


def _check_keys(entry: Any, expected: set[str], where: str) -> None:
    if not isinstance(entry, dict) or set(entry) != expected:
        found = sorted(entry) if isinstance(entry, dict) else type(entry).__name__
        raise BrokenFile(f"{where} holds {found}; expected {sorted(expected)}")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise BrokenFile(f"{where} is {value!r}; expected text")
    return value


def _ratio(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BrokenFile(f"{where} is {value!r}; expected a number between 0 and 1")
    return float(value)


def _check_tiling(phases: Sequence[RatioPhase]) -> None:
    if not phases:
        raise BadInput("no phases; expected at least one from 0 to 1")
    names = [phase.name for phase in phases]
    if any(not name.strip() for name in names) or len(set(names)) != len(names):
        raise BadInput(f"phase names {names}; expected unique, non-empty names")
    edge = 0.0
    for phase in phases:
        # Written so that NaN fails: every comparison with NaN is false.
        joins = math.isclose(phase.start_ratio, edge, abs_tol=_ROUNDING)
        if not (joins and phase.end_ratio > phase.start_ratio):
            raise BadInput(
                f"phase {phase.name!r} spans [{phase.start_ratio}, {phase.end_ratio}); "
                f"expected it to start at {edge} and to end later"
            )
        edge = phase.end_ratio
    if not math.isclose(edge, 1.0, abs_tol=_ROUNDING):
        raise BadInput(f"phases end at {edge}; expected 1.0")
