"""Candidate boundaries: the highest separated peaks of the boundary score, with their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo
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


def candidates(demo: Demo, rules: SignalRules) -> tuple[Candidate, ...]:
    """At most M candidates in order of time: non-maximum suppression, then the M highest."""
    found = signals(demo, rules)
    steps = sorted(_separated_peaks(found.score, rules))
    return tuple(
        Candidate(step=step, score=float(found.score[step]), evidence=evidence)
        for step, evidence in zip(steps, _evidence(found, steps, rules), strict=True)
    )


def _separated_peaks(score: Float[np.ndarray, "frames"], rules: SignalRules) -> list[int]:
    """Highest first; ties go to the earlier step, so that the result does not depend on sorting."""
    is_peak = score > 0
    is_peak[1:] &= score[1:] >= score[:-1]
    is_peak[:-1] &= score[:-1] >= score[1:]
    peaks = np.flatnonzero(is_peak)
    window = rules.suppression_window
    chosen: list[int] = []
    for step in peaks[np.argsort(-score[peaks], kind="stable")].tolist():
        if not any(-window < step - other < window for other in chosen):
            chosen.append(step)
        if len(chosen) == rules.max_candidates:
            break
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
