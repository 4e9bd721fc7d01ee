"""The boundary score of a demonstration, Auto-PC stage 1 (paper, appendix on Auto-PC).

b(t) = 0.3 ‖Δa‖ + 1.0 |Δgripper| + 0.4 [‖a‖ < τ_v]. The paper leaves open the scale of a, the value
of τ_v, and what an idle stretch does; `SignalRules` names our choices, measured against ground
truth (docs/segmentation.md). Motion is scaled by its own strong motion, the gripper by the range of
its command. Pauses are cut out before the change of motion is taken, and a change counts only as
far as it lasts: teleoperated commands pause, jump and tremble.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from phaser.core.demonstration import Demo
from phaser.phases.signal_rules import PAPER_RULES as PAPER_RULES
from phaser.phases.signal_rules import SignalRules as SignalRules

_TINY, _HUGE = 1e-8, 1e6


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Signals:
    """The changes from step t - 1 to step t; entry 0 is zero because nothing precedes it."""

    motion_change: Float[np.ndarray, "frames"]
    gripper_change: Float[np.ndarray, "frames"]
    slow_onset: Bool[np.ndarray, "frames"]
    """Slow steps after a full suppression window without any."""
    slow: Bool[np.ndarray, "frames"]
    """The slow steps that count in the score."""
    score: Float[np.ndarray, "frames"]


def signals(demo: Demo, rules: SignalRules) -> Signals:
    """The terms of b(t) and their weighted sum; the gripper change is positive when it closes."""
    scaled = scaled_motion(demo, rules)
    gripper_change = closing(demo, rules)
    motion_change = _motion_change(scaled, gripper_change, rules)
    slow = _slow(_lengths(scaled), rules)
    slow_onset = _onsets(slow, rules)
    slow[0] = False
    counted = slow if rules.slow == "every" else slow_onset
    score = (
        rules.motion_weight * motion_change
        + rules.gripper_weight * np.abs(gripper_change)
        + rules.slow_weight * counted
    )
    return Signals(
        motion_change=motion_change,
        gripper_change=gripper_change,
        slow_onset=slow_onset,
        slow=counted,
        score=score,
    )


def scaled_motion(demo: Demo, rules: SignalRules) -> Float[np.ndarray, "frames motion"]:
    """Commanded motion per step, in units of the demonstration's own strong motion."""
    motion = commanded_motion(demo)
    return np.asarray(motion / _motion_scale(motion, rules))


def closing(demo: Demo, rules: SignalRules) -> Float[np.ndarray, "frames"]:
    """Change of the gripper command since the step before, in units of its range; + closes."""
    return _closing_sign(demo, rules) * _gripper_change(demo)


def commanded_motion(demo: Demo) -> Float[np.ndarray, "frames motion"]:
    """Commanded motion per step; absolute targets are differenced, else a pose looks like speed."""
    motion = _tame(demo.actions[:, list(demo.layout.motion)])
    return _change(motion) if demo.layout.convention == "absolute" else motion


def _motion_change(
    scaled: Float[np.ndarray, "frames motion"],
    gripper_change: Float[np.ndarray, "frames"],
    rules: SignalRules,
) -> Float[np.ndarray, "frames"]:
    """‖Δa‖ between the steps that are no pause; zero inside a pause."""
    change = np.zeros(len(scaled))
    busy = ~_paused(scaled, gripper_change, rules)
    moving = scaled[busy]
    if len(moving) > 1:
        change[busy] = _mean_change(moving, rules.change_window)
        if rules.context_window:
            lasting = _mean_change(moving, rules.context_window)
            change[busy] = np.minimum(change[busy], lasting)
    change[0] = 0.0
    return change


def _paused(
    scaled: Float[np.ndarray, "frames motion"],
    gripper_change: Float[np.ndarray, "frames"],
    rules: SignalRules,
) -> Bool[np.ndarray, "frames"]:
    """Steps in a run, at least a suppression window long, without motion or gripper change."""
    if rules.idle_speed == 0 or len(scaled) < rules.suppression_window:
        return np.zeros(len(scaled), dtype=bool)
    # Trembling breaks no pause: a step is still when it, or the mean of it and its neighbours, is.
    smooth = _lengths(_mean_after(_with_edges(scaled, 1, 1), 3))
    speed = np.minimum(_lengths(scaled), smooth)
    still = np.zeros(len(scaled) + 2, dtype=bool)
    still[1:-1] = (speed <= rules.idle_speed) & (np.abs(gripper_change) < rules.gripper_evidence)
    edges = np.flatnonzero(still[1:] != still[:-1])
    paused = np.zeros(len(scaled), dtype=bool)
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if stop - start >= rules.suppression_window:
            paused[start:stop] = True
    return paused


def _mean_change(
    values: Float[np.ndarray, "frames dims"], window: int
) -> Float[np.ndarray, "frames"]:
    """Length of the change of the mean from the `window` steps before to those from t on."""
    means = _mean_after(_with_edges(values, window, window - 1), window)
    return _lengths(means[window:] - means[:-window])


def _with_edges(
    values: Float[np.ndarray, "frames dims"], before: int, after: int
) -> Float[np.ndarray, "more_frames dims"]:
    """The first and the last step repeated; several times faster than np.pad on short arrays."""
    steps = np.arange(-before, len(values) + after)
    return values[np.minimum(np.maximum(steps, 0), len(values) - 1)]


def _mean_after(
    values: Float[np.ndarray, "frames dims"], window: int
) -> Float[np.ndarray, "windows dims"]:
    if window == 1:
        return values
    total = np.zeros((len(values) + 1, values.shape[1]))
    np.cumsum(values, axis=0, out=total[1:])
    return np.asarray((total[window:] - total[:-window]) / window)


def _lengths(rows: Float[np.ndarray, "frames dims"]) -> Float[np.ndarray, "frames"]:
    """The length of each row, as np.linalg.norm gives it, at a fraction of its cost."""
    return np.asarray(np.sqrt(np.einsum("fd,fd->f", rows, rows)))


def _motion_scale(
    motion: Float[np.ndarray, "frames motion"], rules: SignalRules
) -> Float[np.ndarray, "motion"]:
    if motion.shape[1] == 0:
        return np.ones(0)
    scale = _quantile(np.abs(motion), rules.scale_quantile)
    return np.asarray(np.maximum(scale, max(rules.scale_floor * float(scale.max()), _TINY)))


def gripper_levels(demo: Demo, rules: SignalRules) -> Float[np.ndarray, "frames grippers"]:
    """Each gripper command as a share of its range, 1 closed; one that never changes is 0."""
    gripper = _closing_sign(demo, rules) * _tame(demo.actions[:, list(demo.layout.gripper)])
    reach = np.ptp(gripper, axis=0)
    return np.asarray((gripper - gripper.min(axis=0)) / np.where(reach > _TINY, reach, np.inf))


def _closing_sign(demo: Demo, rules: SignalRules) -> int:
    """-1 where a falling command closes, whoever says so: the layout, or the rules."""
    return -1 if demo.layout.gripper_closes == "falling" else rules.closing_sign


def _gripper_change(demo: Demo) -> Float[np.ndarray, "frames"]:
    """Signed change of the gripper command, in units of its range; the strongest dimension."""
    gripper = _tame(demo.actions[:, list(demo.layout.gripper)])
    if gripper.shape[1] == 0:
        return np.zeros(demo.num_frames)
    reach = gripper.max(axis=0) - gripper.min(axis=0)
    change = _change(gripper) / np.where(reach > _TINY, reach, np.inf)
    if change.shape[1] == 1:
        return change[:, 0]
    strongest = np.abs(change).argmax(axis=1)
    return np.asarray(change[np.arange(len(change)), strongest])


def _slow(speed: Float[np.ndarray, "frames"], rules: SignalRules) -> Bool[np.ndarray, "frames"]:
    """‖a‖ at or below τ_v; at one constant speed no step is slow."""
    slow = speed <= _quantile(speed[:, None], rules.slow_quantile)[0]
    return np.zeros(len(slow), dtype=bool) if slow.all() else np.asarray(slow)


def _onsets(slow: Bool[np.ndarray, "frames"], rules: SignalRules) -> Bool[np.ndarray, "frames"]:
    """Slow steps that follow a full suppression window without slow steps."""
    onset = np.zeros(len(slow), dtype=bool)
    steps = np.flatnonzero(slow)
    # The last slow step before each; before the first there is none, but step 0 begins nothing.
    onset[steps[1:]] = steps[1:] - steps[:-1] > rules.suppression_window
    onset[steps[:1]] = steps[:1] > 0
    return onset


def _tame(values: Float[np.ndarray, "frames dims"]) -> Float[np.ndarray, "frames dims"]:
    tame = values.astype(np.float64)
    shift = taming_shift(float(np.abs(tame).max(initial=0.0)))
    return np.ldexp(tame, shift) if shift else tame


def taming_shift(largest: float) -> int:
    """Powers of two that bring values beyond a million below it, so that squares cannot overflow.

    A power of two changes no other bit; usual values are left alone.
    """
    return 0 if largest < _HUGE else 20 - math.frexp(largest)[1]


def _change(values: Float[np.ndarray, "frames dims"]) -> Float[np.ndarray, "frames dims"]:
    change = np.zeros_like(values)
    np.subtract(values[1:], values[:-1], out=change[1:])
    return change


def _quantile(
    values: Float[np.ndarray, "frames dims"], quantile: float
) -> Float[np.ndarray, "dims"]:
    """To the bit what np.quantile gives, at a fraction of its cost on short arrays."""
    position = (len(values) - 1) * quantile
    low = int(position)
    share = position - low
    ordered = np.sort(values, axis=0)
    below, above = ordered[low], ordered[min(low + 1, len(values) - 1)]
    if share < 0.5:
        return np.asarray(below + (above - below) * share)
    return np.asarray(above - (above - below) * (1 - share))
