"""Demonstrations as if given by hand: mostly idle, in bursts, with known events."""

from __future__ import annotations

import numpy as np
from synthetic import LAYOUT

from phaser.core.demonstration import ActionLayout, Demo

UPRIGHT = ActionLayout(motion=(0, 1, 2), gripper=(3,), translation=(0, 1, 2))
DOWN, STILL, UP, SIDE = (0.5, 0.0, -1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)


def moves(*stretches, grip=()):
    """A constant motion for each (steps, motion); the gripper closes, opens and so on at `grip`."""
    rows = np.concatenate([np.tile([*motion, -1.0], (steps, 1)) for steps, motion in stretches])
    for number, step in enumerate(grip):
        rows[step:, 3] = 1.0 if number % 2 == 0 else -1.0
    return rows


def with_idle(actions, *, waits, every=3):
    """After every few steps the hand stands still for the next of `waits`; and where they went."""
    rows, places, number = [], [], 0
    for step, row in enumerate(actions):
        if step and step % every == 0:
            still = np.array([*np.zeros(3), actions[step - 1, 3]])
            rows += [still] * waits[number % len(waits)]
            number += 1
        places.append(len(rows))
        rows.append(row)
    return np.array(rows), np.array(places)


def wandering(steps, *, waits, index=0):
    """Around the table; the gripper closes in the middle of going down. And the grasp."""
    forward, side, down = (1, 0, 0), (0, 1, 0), (0, 0, -1)
    ways = (forward, side, (-1, 0, 0), down, down, (0, 0, 1), side, forward)
    plain = moves(*[(steps, way) for way in ways], grip=(4 * steps,))
    actions, places = with_idle(plain, waits=waits)
    return demo_of(actions, index=index), int(places[4 * steps])


def demo_of(actions, *, index=0, layout=LAYOUT, instruction=""):
    return Demo(
        task="t",
        index=index,
        actions=np.asarray(actions, dtype=float),
        states=np.zeros((len(actions), 1)),
        layout=layout,
        instruction=instruction,
    )


def lifted_by_hand(*, waits=(20, 35, 27), index=0, steps=(15, 12, 14), **more):
    """Down, grasp, up, sideways: about nine of ten steps idle; the demonstration and its events."""
    down, up, side = steps
    plain = moves((down, DOWN), (up, UP), (side, SIDE), grip=(down,))
    actions, places = with_idle(plain, waits=waits)
    events = (int(places[down]), int(places[down + up]))
    return demo_of(actions, index=index, **more), events
