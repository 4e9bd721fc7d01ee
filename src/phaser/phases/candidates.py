"""Candidate boundaries: the highest separated peaks of the boundary score, with their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo
from phaser.phases.gripper import GripperEvent, gripper_events
from phaser.phases.signals import SignalRules, Signals, signals

GRIPPER_CLOSES = "gripper_closes"
GRIPPER_OPENS = "gripper_opens"
TURNS = "turns"
SLOWS = "slows"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A step at which a new phase may begin, how strongly, and why."""

    step: int
    score: float
    evidence: frozenset[str]
    grips: bool = False
    """The gripper closes or opens here for good."""


def candidates(
    demo: Demo, rules: SignalRules, *, grips: Sequence[GripperEvent] | None = None
) -> tuple[Candidate, ...]:
    """At most M candidates in order of time: non-maximum suppression, then the M highest.

    With `rules.gripper_first` the events of the gripper come before all others: `grips` where they
    are known already, else those of the demonstration.
    """
    found = signals(demo, rules)
    events = (
        (gripper_events(demo, rules) if grips is None else grips) if rules.gripper_first else ()
    )
    by_step = {one.step: one for one in events}
    steps = sorted(_separated_peaks(found.score, rules, first=list(by_step)))
    tags = _evidence(found, steps, rules)
    return tuple(
        Candidate(
            step=step,
            score=float(found.score[step]),
            evidence=evidence | _gripper_evidence(by_step.get(step)),
            grips=step in by_step,
        )
        for step, evidence in zip(steps, tags, strict=True)
    )


def _gripper_evidence(event: GripperEvent | None) -> frozenset[str]:
    if event is None:
        return frozenset()
    return frozenset({GRIPPER_CLOSES if event.closes else GRIPPER_OPENS})


def _separated_peaks(
    score: Float[np.ndarray, "frames"], rules: SignalRules, *, first: Sequence[int]
) -> list[int]:
    """All of `first`, then the highest peaks a window away; ties go to the earlier step."""
    is_peak = score > 0
    is_peak[1:] &= score[1:] >= score[:-1]
    is_peak[:-1] &= score[:-1] >= score[1:]
    peaks = np.flatnonzero(is_peak)
    highest = peaks[np.argsort(-score[peaks], kind="stable")].tolist()
    window = rules.suppression_window
    chosen = sorted(first, key=lambda one: (-score[one], one))[: rules.max_candidates]
    for step in highest:
        if len(chosen) == rules.max_candidates:
            break
        if not any(-window < step - other < window for other in chosen):
            chosen.append(step)
    return chosen


def _evidence(found: Signals, steps: Sequence[int], rules: SignalRules) -> list[frozenset[str]]:
    """Tags from the steps that suppression folded into each candidate."""
    reach = rules.suppression_window // 2
    near = np.array(steps, dtype=np.intp)[:, None] + np.arange(-reach, reach + 1)
    # Step 0 changes nothing, so it stands in for the steps outside the demonstration.
    near[(near < 0) | (near >= len(found.score))] = 0
    gripper = found.gripper_change[near].sum(axis=1)
    tags = {
        GRIPPER_CLOSES: gripper >= rules.gripper_evidence,
        GRIPPER_OPENS: gripper <= -rules.gripper_evidence,
        TURNS: found.motion_change[near].max(axis=1, initial=0.0) >= rules.turn_evidence,
        SLOWS: found.slow_onset[near].any(axis=1),
    }
    columns = {tag: present.tolist() for tag, present in tags.items()}
    return [
        frozenset(tag for tag, present in columns.items() if present[position])
        for position in range(len(steps))
    ]
