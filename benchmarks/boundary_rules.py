"""Every way of finding boundaries that the segmentation benchmark compares, under one shape."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import ruptures
from jaxtyping import Float

from benchmarks.stage_truth import Example
from phaser.core.demonstration import Demo
from phaser.phases.autopc import AutoPC
from phaser.phases.candidates import candidates
from phaser.phases.signals import PAPER_RULES, SignalRules, closing, scaled_motion

MIN_PHASE_FRAMES = 3
# All the candidates of stage 1; five phases are a rule for whole tasks, not for one demonstration.
ALL_CANDIDATES = 9
RULES = SignalRules()
OURS = "Auto-PC stage 1"

Find = Callable[[Example], Sequence[int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A way to find boundaries, for one setting or for several to choose from."""

    name: str
    choices: Mapping[str, Find]
    """By the words that say the setting; a single one where there is nothing to choose."""
    knows_count: bool = False
    """Whether it is told the true number of boundaries."""


def rules() -> tuple[Rule, ...]:
    return (
        _auto(OURS, AutoPC(), scores=(0.12, 0.15, 0.18, 0.21, 0.24)),
        _auto(
            "the paper's score to the letter",
            AutoPC(signals=PAPER_RULES),
            scores=(0.15, 0.25, 0.35, 0.45, 0.55),
        ),
        Rule(
            name=OURS,
            choices={"true count": _strongest_of_count},
            knows_count=True,
        ),
        Rule(name="equal splits", choices={"true count": equal_splits}, knows_count=True),
        Rule(name="gripper changes only", choices={"fixed": gripper_changes}),
        _penalised("ruptures Pelt, l2", _pelt, (0.5, 1.0, 2.0, 4.0, 8.0)),
        _penalised("ruptures KernelCPD, rbf", _kernel, (0.5, 1.0, 2.0, 4.0, 8.0)),
        Rule(name="ruptures Dynp, l2", choices={"true count": _dynp}, knows_count=True),
    )


def _strongest_of_count(example: Example) -> list[int]:
    """As many of the strongest candidates as there are boundaries: what Dynp is told, too."""
    count = len(example.boundaries)
    signals = replace(RULES, max_candidates=max(2 * count, RULES.max_candidates))
    found = candidates(example.demo, signals)
    auto = AutoPC(min_score=0.0, max_phases=count + 1)
    return [one.step for one in auto.strongest(found, example.demo.num_frames)]


def equal_splits(example: Example) -> list[int]:
    count, num_frames = len(example.boundaries), example.demo.num_frames
    return [round(num_frames * k / (count + 1)) for k in range(1, count + 1)]


def gripper_changes(example: Example) -> list[int]:
    """Steps at which the command changes by a fifth of its range, a full window apart."""
    change = np.abs(closing(example.demo, RULES))
    found: list[int] = []
    for step in np.flatnonzero(change >= RULES.gripper_evidence):
        if not found or step - found[-1] >= RULES.suppression_window:
            found.append(int(step))
    return found


def shared_signal(demo: Demo) -> Float[np.ndarray, "frames dims"]:
    """What the ruptures detectors see: the same scaled motion, and the gripper in its range."""
    gripper = demo.actions[:, list(demo.layout.gripper)].astype(np.float64)
    reach = np.maximum(np.ptp(gripper, axis=0), 1e-8)
    scaled = scaled_motion(demo, RULES)
    return np.concatenate([scaled, (gripper - gripper.min(axis=0)) / reach], axis=1)


def _auto(
    name: str, settings: AutoPC, *, scores: Sequence[float], phases: int = ALL_CANDIDATES
) -> Rule:
    def finder(score: float) -> Find:
        auto = replace(settings, min_score=score, max_phases=phases)

        def find(example: Example) -> list[int]:
            found = candidates(example.demo, auto.signals)
            return [one.step for one in auto.strongest(found, example.demo.num_frames)]

        return find

    return Rule(name=name, choices={f"min_score {score}": finder(score) for score in scores})


def _penalised(
    name: str, detect: Callable[[Example, float], list[int]], penalties: Sequence[float]
) -> Rule:
    def finder(penalty: float) -> Find:
        return lambda example: detect(example, penalty)

    return Rule(name=name, choices={f"penalty {one}": finder(one) for one in penalties})


def _pelt(example: Example, penalty: float) -> list[int]:
    search = ruptures.Pelt(model="l2", min_size=MIN_PHASE_FRAMES, jump=1)
    return _inner(search.fit(shared_signal(example.demo)).predict(pen=penalty))


def _kernel(example: Example, penalty: float) -> list[int]:
    search = ruptures.KernelCPD(kernel="rbf", min_size=MIN_PHASE_FRAMES)
    return _inner(search.fit(shared_signal(example.demo)).predict(pen=penalty))


def _dynp(example: Example) -> list[int]:
    if not example.boundaries:
        return []
    search = ruptures.Dynp(model="l2", min_size=MIN_PHASE_FRAMES, jump=1)
    return _inner(search.fit(shared_signal(example.demo)).predict(len(example.boundaries)))


def _inner(breakpoints: Sequence[int]) -> list[int]:
    """Without the end of the signal, which ruptures counts as a breakpoint."""
    return [int(step) for step in breakpoints[:-1]]
