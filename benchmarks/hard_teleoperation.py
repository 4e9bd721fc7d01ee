"""Teleoperation as people really give it, made from scripted demonstrations: mostly standing still.

With a keyboard or a space mouse nine of ten steps command nothing; the hand moves in bursts, goes
too far and comes back, at a speed of each person's own, and often the gripper is used only once. A
true boundary is the first step of its stage that moves the hand or the gripper.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Int

from benchmarks.teleoperation import Actions, Style, Styled

IDLE_SHARE = 0.9
BURSTS = (1, 8)
"""Steps of a burst, at least and at most."""
STOPS_FIRST = 0.75
"""How often a person stops before a new stage; otherwise it begins within a burst."""
OVERSHOOTS = 0.5
"""How often a stage ends too far."""
SPEEDS = (0.4, 1.4)
"""People are slower than scripted experts, most of the time."""
DRIFT = 0.01
"""A released space mouse still says this share of full speed."""
_STILL = 2 * DRIFT
_GRIPS = 0.2


def overshooting(actions: Actions, boundaries: Sequence[int], rng: np.random.Generator) -> Styled:
    """Every other stage goes on for 2 to 4 steps too many and comes back, before the next."""
    pieces: list[Actions] = []
    edges = [0, *boundaries, len(actions)]
    for start, stop in pairwise(edges):
        pieces.append(actions[start:stop])
        if stop < len(actions) and rng.random() < OVERSHOOTS:
            too_far = np.repeat(actions[stop - 1 : stop], rng.integers(2, 5), axis=0)
            too_far[:, :-1] = actions[max(start, stop - 3) : stop, :-1].mean(axis=0)
            back = too_far.copy()
            back[:, :-1] *= -rng.uniform(0.6, 1.0)
            pieces[-1] = np.concatenate([pieces[-1], too_far, back])
    begins = np.cumsum([len(piece) for piece in pieces])[:-1]
    return np.concatenate(pieces), tuple(int(step) for step in begins)


def at_own_speed(actions: Actions, boundaries: Sequence[int], rng: np.random.Generator) -> Styled:
    """Between 0.4 and 1.4 times the expert's speed, drifting; slower means smaller and more."""
    num_frames = len(actions)
    speed = np.interp(np.arange(num_frames), np.linspace(0, num_frames, 5), rng.uniform(*SPEEDS, 5))
    begins = np.concatenate([[0.0], np.cumsum(1 / speed)])
    times = np.arange(int(begins[-2]) + 1)
    origin = np.minimum(np.searchsorted(begins, times + 1e-9, side="right") - 1, num_frames - 1)
    paced = actions[origin].copy()
    paced[:, :-1] *= speed[origin, None]
    return paced, tuple(int(np.ceil(begins[step] - 1e-9)) for step in boundaries)


def gripping_once(actions: Actions, boundaries: Sequence[int], rng: np.random.Generator) -> Styled:
    """The demonstration ends before the gripper changes for the second time."""
    gripper = actions[:, -1]
    reach = max(float(np.ptp(gripper)), 1e-8)
    changes = np.flatnonzero(np.abs(np.diff(gripper)) >= _GRIPS * reach) + 1
    if len(changes) < 2:
        return actions, tuple(boundaries)
    kept = actions[: changes[1]]
    return kept, tuple(step for step in boundaries if step < len(kept))


def mostly_idle(
    actions: Actions,
    boundaries: Sequence[int],
    rng: np.random.Generator,
    *,
    keys: bool = False,
    drift: float = 0.0,
) -> Styled:
    """Bursts of 1 to 8 steps; between them the hand stands still, for nine of ten steps.

    With `keys` every axis moves at full speed or not at all, and the way is kept.
    With `drift` what is commanded between bursts is not quite nothing.
    """
    begins = np.array(_bursts(len(actions), boundaries, rng))
    if keys:
        actions = _pressed(actions, begins)
    num_idle = round(len(actions) * IDLE_SHARE / (1 - IDLE_SHARE))
    waits = rng.exponential(size=len(begins))
    waits = np.maximum(1, np.round(num_idle * waits / waits.sum())).astype(int)
    source = np.maximum(np.repeat(begins, waits) - 1, 0)
    still = actions[source].copy()
    still[:, :-1] = drift * rng.normal(size=still[:, :-1].shape)
    styled = np.insert(actions, np.repeat(begins, waits), still, axis=0)
    moved = [step + int(waits[begins <= step].sum()) for step in boundaries]
    return styled, _visible(styled, moved)


def _pressed(actions: Actions, begins: Int[np.ndarray, "bursts"]) -> Actions:
    """In each burst every axis' key is held as long as its way needs; what is left is kept."""
    pressed = actions.copy()
    full = max(float(np.abs(actions[:, :-1]).max()), 1e-8)
    owed = np.zeros(actions.shape[1] - 1)
    for start, stop in pairwise(begins.tolist()):
        owed += actions[start:stop, :-1].sum(axis=0) / full
        held = np.minimum(np.round(np.abs(owed)), stop - start)
        on = np.arange(stop - start)[:, None] < held
        pressed[start:stop, :-1] = full * np.sign(owed) * on
        owed -= np.sign(owed) * held
    return pressed


def _bursts(num_frames: int, boundaries: Sequence[int], rng: np.random.Generator) -> list[int]:
    """First steps of all bursts, and the end; most boundaries begin one."""
    begins = {0, num_frames, *(step for step in boundaries if rng.random() < STOPS_FIRST)}
    found = []
    for start, stop in pairwise(sorted(begins)):
        while start < stop:
            found.append(start)
            start += int(rng.integers(BURSTS[0], BURSTS[1] + 1))
    return [*found, num_frames]


def _visible(actions: Actions, boundaries: Sequence[int]) -> tuple[int, ...]:
    """Each boundary at its stage's first motion or gripper change; a stage without any is none."""
    active = _active(actions)
    found: list[int] = []
    for start, stop in pairwise([*boundaries, len(actions)]):
        steps = np.flatnonzero(active[start:stop])
        if len(steps):
            found.append(start + int(steps[0]))
    return tuple(found)


def _active(actions: Actions) -> Bool[np.ndarray, "frames"]:
    motion = np.abs(actions[:, :-1]).max(axis=1) > _STILL * float(np.abs(actions[:, :-1]).max())
    gripper = actions[:, -1]
    motion[1:] |= np.abs(np.diff(gripper)) >= _GRIPS * max(float(np.ptp(gripper)), 1e-8)
    return np.asarray(motion)


def _chain(*parts: Style) -> Style:
    def style(actions: Actions, boundaries: Sequence[int], rng: np.random.Generator) -> Styled:
        for part in parts:
            actions, boundaries = part(actions, boundaries, rng)
        return actions, tuple(boundaries)

    return style


def _idle(*, keys: bool = False, drift: float = 0.0) -> Style:
    return partial(mostly_idle, keys=keys, drift=drift)


HARD_STYLES: dict[str, Style] = {
    "mostly idle": mostly_idle,
    "keyboard": _idle(keys=True),
    "gripper used once": _chain(gripping_once, at_own_speed, _idle(drift=DRIFT)),
    "overshoot": _chain(overshooting, mostly_idle),
    "own speed": _chain(at_own_speed, _idle(drift=DRIFT)),
    "all together": _chain(gripping_once, at_own_speed, overshooting, _idle(keys=True)),
}
