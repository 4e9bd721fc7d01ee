"""Every way of finding boundaries that is compared on demonstrations by hand."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import ruptures

from benchmarks.boundary_rules import (
    ALL_CANDIDATES,
    MIN_PHASE_FRAMES,
    Find,
    Rule,
    equal_splits,
    shared_signal,
)
from benchmarks.hand_truth import gripper_changes
from benchmarks.stage_truth import Example
from phaser.phases.autopc import AutoPC
from phaser.phases.lapse import idle_steps
from phaser.phases.signals import SignalRules

OURS = "Auto-PC"
BEFORE = "Auto-PC on all steps (0.1.0)"
MANY = 16
"""Candidates of one demonstration, nearly as many as LIBERO's long tasks have stages (18)."""
STAGE_ONE = AutoPC(max_phases=MANY + 1, signals=SignalRules(max_candidates=MANY))
_ALL_STEPS = AutoPC(
    max_phases=ALL_CANDIDATES, drop_idle="never", signals=SignalRules(gripper_first=False)
)


def hand_rules() -> tuple[Rule, ...]:
    return (
        Rule(name=OURS, choices={"as it is": _finder(STAGE_ONE)}),
        Rule(name=BEFORE, choices={"as it was": _finder(_ALL_STEPS)}),
        Rule(
            name="ruptures Pelt, l2, on moving steps",
            choices={f"penalty {one}": _pelt(one) for one in (0.5, 1.0, 2.0, 4.0, 8.0)},
        ),
        Rule(name="gripper changes only", choices={"fixed": gripper_changes}),
        Rule(name=OURS, choices={"true count": _of_count}, knows_count=True),
        Rule(name="equal splits", choices={"true count": equal_splits}, knows_count=True),
    )


def _finder(auto: AutoPC) -> Find:
    return lambda example: [one.step for one in auto.chosen(example.demo)]


def _of_count(example: Example) -> Sequence[int]:
    """As many of the strongest candidates as there are boundaries."""
    count = len(example.boundaries)
    signals = replace(STAGE_ONE.signals, max_candidates=max(2 * count, MANY))
    told = replace(STAGE_ONE, min_score=0.0, max_phases=count + 1, signals=signals)
    return [one.step for one in told.chosen(example.demo)]


def _pelt(penalty: float) -> Find:
    def find(example: Example) -> list[int]:
        demo = example.demo
        kept = np.flatnonzero(~idle_steps(demo, SignalRules()))
        moving = replace(demo, actions=demo.actions[kept], states=demo.states[kept])
        search = ruptures.Pelt(model="l2", min_size=MIN_PHASE_FRAMES, jump=1)
        found = search.fit(shared_signal(moving)).predict(pen=penalty)
        return [int(kept[step]) for step in found[:-1]]

    return find
