"""Phases of tasks as they are annotated: shares of a typical demonstration, steps of every one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.core.ports import Segmenter
from phaser.core.segmentation import Segmentation
from phaser.phases.transfer import Source, by_ratio

State = Literal["candidate", "verified"]
"""A candidate was proposed and not yet looked at; a person has verified the other."""
_ROUNDING = 1e-6


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
        return len({phase.name for phase in self.phases})

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
    """For each boundary what put it there: an event, the ratio, a person or a model; empty when
    not known."""
    phases: tuple[str, ...] = ()
    """The names of this demonstration's phases, where they are not the task's: it may lack one or
    repeat one."""
    state: State | None = None
    """Whether a person has verified this demonstration; None where nobody keeps count."""

    def __post_init__(self) -> None:
        if len(self.sources) not in (0, len(self.boundaries)):
            raise BadInput(
                f"episode {self.episode} has {len(self.sources)} sources for "
                f"{len(self.boundaries)} boundaries; expected one for each, or none"
            )
        if self.phases:
            check_names(self.phases)

    def segmentation(self, names: Sequence[str]) -> Segmentation:
        """The phases of this demonstration; `names` are the task's."""
        return Segmentation.from_boundaries(
            self.boundaries, num_frames=self.num_frames, labels=self.phases or names
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeSegmenter(Segmenter):
    """Gives every demonstration its own boundaries, found by its number."""

    names: tuple[str, ...]
    episodes: tuple[EpisodeStages, ...]

    @property
    def max_phases(self) -> int | None:
        return len({*self.names, *(name for one in self.episodes for name in one.phases)})

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
            found.append(one.segmentation(self.names))
        return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotator:
    """Who annotated a task last, when, and how long it took in all."""

    who: str
    when: str
    """UTC, such as 2026-11-17T12:00:00+00:00."""
    seconds: float
    """Time spent on the task, pauses left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskStages:
    """The annotation of one task and who made it."""

    instruction: str
    phases: tuple[RatioPhase, ...]
    source: str
    flag: str = ""
    """What went wrong on the way, for instance a verification that failed; empty when nothing."""
    episodes: tuple[EpisodeStages, ...] = ()
    annotated: Annotator | None = None
    """The person who worked on the task; None where that is not known."""

    def __post_init__(self) -> None:
        _check_tiling(self.phases)
        numbers = [one.episode for one in self.episodes]
        if len(set(numbers)) != len(numbers):
            raise BadInput(f"episodes {numbers}; expected each only once")
        for one in self.episodes:
            # Refuses boundaries that do not cut the episode into these phases.
            one.segmentation(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(phase.name for phase in self.phases)

    def segmenter(self) -> RatioSegmenter:
        return RatioSegmenter(phases=self.phases)

    def episode_segmenter(self) -> EpisodeSegmenter:
        """By the steps of each episode; refuses demonstrations that were not annotated."""
        return EpisodeSegmenter(names=self.names, episodes=self.episodes)


def _check_tiling(phases: Sequence[RatioPhase]) -> None:
    if not phases:
        raise BadInput("no phases; expected at least one from 0 to 1")
    check_names([phase.name for phase in phases])
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


def check_names(names: Sequence[str]) -> None:
    """Refuse names without a letter, and neighbours of one name, which would be one phase."""
    if any(not name.strip() for name in names) or any(a == b for a, b in pairwise(names)):
        raise BadInput(
            f"phase names {list(names)}; expected non-empty names, neighbours with different ones"
        )
