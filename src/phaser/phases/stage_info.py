"""`stage_info.json`: phases of tasks as ratios of their demonstrations, whoever found them.

{"open_drawer": {"instruction": "open the drawer", "source": "human", "phases":
 [{"name": "approach", "start_ratio": 0.0, "end_ratio": 0.85}, …]}}. The phases tile [0, 1]. A task
may also hold "flag" (what went wrong while it was segmented) and "episodes" (the boundaries of each
demonstration in steps); docs/stage_info.schema.json is the whole form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json, write_json
from phaser.core.ports import Segmenter
from phaser.core.ranges import COUNT_OR_ZERO, SHARE
from phaser.core.segmentation import Segmentation
from phaser.phases.transfer import Source, by_ratio

_ROUNDING = 1e-6
_TASK_KEYS = {"instruction", "source", "phases"}
_OPTIONAL_KEYS = frozenset({"flag", "episodes"})
_PHASE_KEYS = {"name", "start_ratio", "end_ratio"}
_EPISODE_KEYS = {"episode", "num_frames", "boundaries"}
_EPISODE_OPTIONAL = frozenset({"sources"})


@dataclass(frozen=True, kw_only=True, slots=True)
class RatioPhase:
    """One phase as a share of the demonstration, `end_ratio` excluded."""

    name: str
    start_ratio: float
    end_ratio: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RatioSegmenter(Segmenter):
    """Applies the same ratios to every demonstration, as the paper does."""

    phases: tuple[RatioPhase, ...]

    def __post_init__(self) -> None:
        _check_tiling(self.phases)

    @property
    def max_phases(self) -> int | None:
        return len(self.phases)

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
class EpisodeStages:
    """Where the phases of a task begin in one demonstration, the first phase left out."""

    episode: int
    num_frames: int
    boundaries: tuple[int, ...]
    sources: tuple[Source, ...] = ()
    """For each boundary whether an event or the ratio put it there; empty when not known."""

    def __post_init__(self) -> None:
        if len(self.sources) not in (0, len(self.boundaries)):
            raise BadInput(
                f"episode {self.episode} has {len(self.sources)} sources for "
                f"{len(self.boundaries)} boundaries; expected one for each, or none"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeSegmenter(Segmenter):
    """Gives every demonstration its own boundaries, found by its number."""

    names: tuple[str, ...]
    episodes: tuple[EpisodeStages, ...]

    @property
    def max_phases(self) -> int | None:
        return len(self.names)

    def segment(self, demos: Sequence[Demo]) -> tuple[Segmentation, ...]:
        by_number = {one.episode: one for one in self.episodes}
        found = []
        for demo in demos:
            one = by_number.get(demo.index)
            if one is None or one.num_frames != demo.num_frames:
                annotated = "no boundaries" if one is None else f"{one.num_frames} frames"
                raise BadInput(
                    f"demonstration {demo.index} has {demo.num_frames} frames, its annotation "
                    f"{annotated}; segment these demonstrations again or use the ratios"
                )
            found.append(
                Segmentation.from_boundaries(
                    one.boundaries, num_frames=one.num_frames, labels=self.names
                )
            )
        return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskStages:
    """The annotation of one task and who made it."""

    instruction: str
    phases: tuple[RatioPhase, ...]
    source: str
    flag: str = ""
    """What went wrong on the way, for instance a verification that failed; empty when nothing."""
    episodes: tuple[EpisodeStages, ...] = ()

    def __post_init__(self) -> None:
        _check_tiling(self.phases)
        numbers = [one.episode for one in self.episodes]
        if len(set(numbers)) != len(numbers):
            raise BadInput(f"episodes {numbers}; expected each only once")
        for one in self.episodes:
            # Refuses boundaries that do not cut the episode into these phases.
            Segmentation.from_boundaries(
                one.boundaries, num_frames=one.num_frames, labels=self.names
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(phase.name for phase in self.phases)

    def segmenter(self) -> RatioSegmenter:
        return RatioSegmenter(phases=self.phases)

    def episode_segmenter(self) -> EpisodeSegmenter:
        """By the steps of each episode; refuses demonstrations that were not annotated."""
        return EpisodeSegmenter(names=self.names, episodes=self.episodes)


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
        _check_keys(entry, _TASK_KEYS, where, optional=_OPTIONAL_KEYS)
        for part in ("phases", "episodes"):
            if not isinstance(entry.get(part, []), list):
                raise BrokenFile(f"{where}: {part!r} is not a list")
        try:
            tasks[name] = TaskStages(
                instruction=_text(entry["instruction"], f"{where}: instruction"),
                source=_text(entry["source"], f"{where}: source"),
                phases=tuple(_phase(phase, where) for phase in entry["phases"]),
                flag=_text(entry.get("flag", ""), f"{where}: flag"),
                episodes=tuple(_episode(one, where) for one in entry.get("episodes", [])),
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
    entry: dict[str, Any] = {
        "instruction": stages.instruction,
        "source": stages.source,
        "phases": phases,
    }
    if stages.flag:
        entry["flag"] = stages.flag
    if stages.episodes:
        entry["episodes"] = [_episode_to_json(one) for one in stages.episodes]
    return entry


def _episode_to_json(one: EpisodeStages) -> dict[str, Any]:
    entry = {
        "episode": one.episode,
        "num_frames": one.num_frames,
        "boundaries": list(one.boundaries),
    }
    return entry | ({"sources": list(one.sources)} if one.sources else {})


def _phase(entry: Any, where: str) -> RatioPhase:
    _check_keys(entry, _PHASE_KEYS, f"{where}, phase")
    return RatioPhase(
        name=_text(entry["name"], f"{where}: phase name"),
        start_ratio=_ratio(entry["start_ratio"], f"{where}: start_ratio"),
        end_ratio=_ratio(entry["end_ratio"], f"{where}: end_ratio"),
    )


def _episode(entry: Any, where: str) -> EpisodeStages:
    _check_keys(entry, _EPISODE_KEYS, f"{where}, episode", optional=_EPISODE_OPTIONAL)
    boundaries = entry["boundaries"]
    if not isinstance(boundaries, list):
        raise BrokenFile(f"{where}: episode boundaries {boundaries!r}; expected a list of steps")
    return EpisodeStages(
        episode=_whole(entry["episode"], f"{where}: episode"),
        num_frames=_whole(entry["num_frames"], f"{where}: num_frames"),
        boundaries=tuple(_whole(step, f"{where}: boundary") for step in boundaries),
        sources=_sources(entry.get("sources", []), where),
    )


def _sources(value: Any, where: str) -> tuple[Source, ...]:
    if not isinstance(value, list) or not all(one in get_args(Source) for one in value):
        raise BrokenFile(
            f"{where}: episode sources {value!r}; expected a list of 'event' and 'ratio'"
        )
    return tuple(value)


def _check_keys(
    entry: Any, expected: set[str], where: str, *, optional: frozenset[str] = frozenset()
) -> None:
    if not isinstance(entry, dict) or not expected <= set(entry) <= expected | optional:
        found = sorted(entry) if isinstance(entry, dict) else type(entry).__name__
        raise BrokenFile(f"{where} holds {found}; expected {sorted(expected)}")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise BrokenFile(f"{where} is {value!r}; expected text")
    return value


def _ratio(value: Any, where: str) -> float:
    if not isinstance(value, int | float) or not SHARE.holds(value):
        raise BrokenFile(f"{where} is {str(value)[:60]}; expected {SHARE}")
    return float(value)


def _whole(value: Any, where: str) -> int:
    if not isinstance(value, int) or not COUNT_OR_ZERO.holds(value):
        raise BrokenFile(f"{where} is {str(value)[:60]}; expected {COUNT_OR_ZERO} (of 64 bits)")
    return value


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
