"""Carry the boundaries of one demonstration over to another of the same task.

The paper applies the representative's ratios to every demonstration. Demonstrations differ in
pace, so a boundary placed by ratio alone often misses the event it stands for; `snapped` moves it
to the demonstration's own candidate where one fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaser.core.errors import BadInput
from phaser.phases.candidates import Candidate


@dataclass(frozen=True, kw_only=True, slots=True)
class Landmark:
    """A boundary to transfer: where it lies in the representative and what happens there."""

    ratio: float
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Option:
    step: int
    cost: float


def by_ratio(ratios: Sequence[float], *, num_frames: int, min_phase_frames: int) -> list[int]:
    """Boundaries at the ratios, moved only as far as the shortest allowed phase demands."""
    num_phases = len(ratios) + 1
    if num_frames < num_phases:
        raise BadInput(
            f"a demonstration of {num_frames} frames cannot hold {num_phases} phases; "
            "remove it or allow fewer phases"
        )
    gap = max(1, min(min_phase_frames, num_frames // num_phases))
    steps = [round(ratio * num_frames) for ratio in ratios]
    edge = 0
    for position, step in enumerate(steps):
        edge = max(step, edge + gap)
        steps[position] = edge
    edge = num_frames
    for position in range(len(steps) - 1, -1, -1):
        edge = min(steps[position], edge - gap)
        steps[position] = edge
    return steps


def snapped(
    landmarks: Sequence[Landmark],
    found: Sequence[Candidate],
    *,
    num_frames: int,
    min_phase_frames: int,
    window: float,
) -> list[int]:
    """Boundaries at fitting candidates, else by ratio; the cheapest choice that keeps the order.

    A candidate within `window` (a share of the demonstration) costs its distance plus the evidence
    it does not share, each between 0 and 1; staying at the ratio costs 1.
    """
    if not landmarks:
        return []
    fallback = by_ratio(
        [landmark.ratio for landmark in landmarks],
        num_frames=num_frames,
        min_phase_frames=min_phase_frames,
    )
    gap = max(1, min(min_phase_frames, num_frames // (len(landmarks) + 1)))
    options = [
        [_Option(step, 1.0), *_fitting(landmark, found, num_frames=num_frames, window=window)]
        for landmark, step in zip(landmarks, fallback, strict=True)
    ]
    return _cheapest_path(options, gap=gap, num_frames=num_frames)


def _fitting(
    landmark: Landmark, found: Sequence[Candidate], *, num_frames: int, window: float
) -> list[_Option]:
    reach = window * num_frames
    fitting = []
    for candidate in found:
        distance = abs(candidate.step - landmark.ratio * num_frames)
        if distance <= reach and reach > 0:
            mismatch = 1 - _overlap(landmark.evidence, candidate.evidence)
            fitting.append(_Option(candidate.step, distance / reach + mismatch))
    return fitting


def _overlap(left: frozenset[str], right: frozenset[str]) -> float:
    union = left | right
    return len(left & right) / len(union) if union else 1.0


def _cheapest_path(options: list[list[_Option]], *, gap: int, num_frames: int) -> list[int]:
    """Dynamic programme over the boundaries; the ratios themselves are always a valid path."""
    paths = [(option.cost, [option.step]) for option in options[0] if gap <= option.step]
    for choices in options[1:]:
        paths = [
            (cost + option.cost, [*steps, option.step])
            for option in choices
            for cost, steps in _best_before(paths, option.step - gap)
        ]
    ending = [path for path in paths if path[1][-1] <= num_frames - gap]
    return min(ending, key=lambda path: path[0])[1]


def _best_before(
    paths: list[tuple[float, list[int]]], latest: int
) -> list[tuple[float, list[int]]]:
    """The cheapest path that ends no later than `latest`, if there is one."""
    reachable = [path for path in paths if path[1][-1] <= latest]
    return [min(reachable, key=lambda path: path[0])] if reachable else []
