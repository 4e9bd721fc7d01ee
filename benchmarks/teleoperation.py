"""Demonstrations as people give them, made from scripted ones; true boundaries are carried along.

People stop to think, tap keys, tremble, and are never equally fast. Each style takes the actions
(motion first, the gripper last) and the true boundaries, and returns both anew.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

Actions = Float[np.ndarray, "frames action"]
Styled = tuple[Actions, tuple[int, ...]]
Style = Callable[[Actions, Sequence[int], np.random.Generator], Styled]

BURST_STEPS = 3
SPEEDS = (0.6, 1.6)


def with_pauses(actions: Actions, boundaries: Sequence[int], rng: np.random.Generator) -> Styled:
    """One to three stops of 8 to 25 steps; a stop belongs to the phase it interrupts."""
    places = np.sort(rng.integers(3, len(actions) - 3, rng.integers(1, 4)))
    lengths = rng.integers(8, 26, len(places))
    still = actions[np.repeat(places, lengths) - 1].copy()
    still[:, :-1] = 0.0
    paused = np.insert(actions, np.repeat(places, lengths), still, axis=0)
    moved = [step + int(lengths[places <= step].sum()) for step in boundaries]
    return paused, tuple(moved)


def in_bursts(actions: Actions, boundaries: Sequence[int], rng: np.random.Generator) -> Styled:
    """Keys held for three steps: every axis at full speed or not at all, the way is kept."""
    pressed = actions.copy()
    owed = np.zeros(actions.shape[1] - 1)
    for start in range(0, len(actions), BURST_STEPS):
        held = pressed[start : start + BURST_STEPS, :-1]
        owed += held.sum(axis=0)
        key = np.where(np.abs(owed) >= len(held) / 2, np.sign(owed), 0.0)
        owed -= key * len(held)
        held[:] = key
    return pressed, tuple(boundaries)


def trembling(
    actions: Actions,
    boundaries: Sequence[int],
    rng: np.random.Generator,
    *,
    noise: float = 0.15,
    tremor: float = 0.1,
) -> Styled:
    """Noise at every step, and a tremor of 4 to 9 steps per swing, as shares of strong motion."""
    size = actions[:, :-1].shape
    swing = 2 * np.pi * np.arange(len(actions))[:, None] / rng.uniform(4, 9, size[1])
    shake = rng.normal(0, noise, size) + tremor * np.sin(swing + rng.uniform(0, 6.28, size[1]))
    shaken = actions.copy()
    shaken[:, :-1] += float(np.quantile(np.abs(actions[:, :-1]), 0.95)) * shake
    return shaken, tuple(boundaries)


def unevenly_fast(actions: Actions, boundaries: Sequence[int], rng: np.random.Generator) -> Styled:
    """Between 0.6 and 1.6 times the speed, drifting; faster means larger and fewer actions."""
    num_frames = len(actions)
    frames = np.arange(num_frames)
    speed = np.interp(frames, np.linspace(0, num_frames, 5), rng.uniform(*SPEEDS, 5))
    begins = np.concatenate([[0.0], np.cumsum(1 / speed)])
    origin = np.interp(np.arange(int(begins[-2]) + 1), begins, np.arange(num_frames + 1))
    motion = [np.interp(origin, frames, column) for column in actions[:, :-1].T]
    faster = np.interp(origin, frames, speed)
    gripper = actions[np.minimum(origin.astype(int), num_frames - 1), -1]
    warped = np.stack([*(column * faster for column in motion), gripper], axis=1)
    return warped, tuple(int(np.ceil(begins[step] - 1e-9)) for step in boundaries)


def as_by_people(actions: Actions, boundaries: Sequence[int], rng: np.random.Generator) -> Styled:
    """Unevenly fast, with pauses, trembling a little."""
    actions, boundaries = unevenly_fast(actions, boundaries, rng)
    actions, boundaries = with_pauses(actions, boundaries, rng)
    return trembling(actions, boundaries, rng, noise=0.08)


STYLES: dict[str, Style] = {
    "pauses": with_pauses,
    "bursts": in_bursts,
    "trembling": trembling,
    "uneven speed": unevenly_fast,
    "all but bursts": as_by_people,
}
