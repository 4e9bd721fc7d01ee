"""Moves of a scripted expert, and the building blocks that tasks are composed of.

A move leads the hand to a target that follows the objects. Blocks are lists of moves; a task's
expert is their sum. All blocks work with any object and place of LIBERO.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phaser.suites.libero.experts.world import (
    Condition,
    Direction,
    Position,
    World,
    down,
    facing,
    vector,
)

OPEN, CLOSED = -1.0, 1.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Move:
    """One stage: bring the hand to the target, then (or when time is up) go on to the next."""

    stage: str
    target: Position
    grip: float
    hand: Direction = down
    tolerance: float = 0.012
    """Metres between hand and target at which the move is done."""
    tolerance_angle: float = 0.12
    """Radians; must hold as well."""
    at_least: int = 1
    at_most: int = 60
    """Control steps; afterwards the next move begins anyway."""
    speed: float = 1.0
    """The largest command, of 1."""
    fixed: bool = False
    """The target is where it was when the move began; otherwise it follows the objects."""
    until: Condition | None = None
    """Done as soon as this holds, wherever the hand is."""
    unless: Condition | None = None
    """Left out when this holds as it would begin."""
    again_from: str = ""
    again_if: Condition | None = None
    """When done and this holds, go back to the nearest earlier move of stage `again_from`."""


def here(world: World) -> np.ndarray:
    return world.hand


def shifted(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Position:
    """The hand's own position and an offset: a target for moves that are `fixed`."""
    return lambda world: world.hand + vector(x, y, z)


def reach(
    name: str,
    spot: Position,
    *,
    grip: float = OPEN,
    hand: Direction = down,
    above: float = 0.10,
    tolerance: float = 0.008,
    speed: float = 0.6,
) -> list[Move]:
    """Go over the spot, then straight down to it."""

    def over(world: World) -> np.ndarray:
        return spot(world) + vector(0, 0, above)

    return [
        Move(stage=f"above {name}", target=over, grip=grip, hand=hand, tolerance=0.018),
        Move(
            stage=f"reach {name}",
            target=spot,
            grip=grip,
            hand=hand,
            tolerance=tolerance,
            speed=speed,
        ),
    ]


def stay(stage: str, grip: float, *, steps: int, hand: Direction = down) -> Move:
    """Hold the hand where it is for some steps, while the fingers move."""
    return Move(
        stage=stage, target=here, grip=grip, hand=hand, fixed=True, at_least=steps, at_most=steps
    )


def shift(
    stage: str,
    by: Position,
    grip: float,
    *,
    hand: Direction = down,
    speed: float = 0.8,
    tolerance: float = 0.02,
    at_most: int = 40,
) -> Move:
    """Go to `by` as it is read at the start; `shifted(...)` makes it relative to the hand."""
    return Move(
        stage=stage,
        target=by,
        grip=grip,
        hand=hand,
        fixed=True,
        speed=speed,
        tolerance=tolerance,
        at_most=at_most,
    )


def grasp(
    name: str,
    thing: str,
    spot: Position,
    *,
    lift: float,
    hand: Direction = down,
    above: float = 0.10,
    close_steps: int = 10,
    tolerance: float = 0.008,
) -> list[Move]:
    """Close the fingers at a spot of the thing and lift it; once more when it stayed behind."""

    def lost(world: World) -> bool:
        return not held(world, thing)

    raise_it = Move(
        stage=f"lift {name}",
        target=shifted(z=lift),
        grip=CLOSED,
        hand=hand,
        fixed=True,
        tolerance=0.02,
        speed=0.75,
        again_from=f"above {name}",
        again_if=lost,
    )
    return [
        *reach(name, spot, hand=hand, above=above, tolerance=tolerance),
        stay("close", CLOSED, steps=close_steps, hand=hand),
        raise_it,
    ]


def held(world: World, thing: str, *, reach: float = 0.16, closed: float = 0.002) -> bool:
    """The fingers are not shut and the thing is near them: enough to tell a grasp that failed."""
    return world.gap > closed and bool(np.linalg.norm(world.hand - world.position(thing)) < reach)


def place(
    thing: str,
    spot: Position,
    *,
    clearance: float = 0.09,
    hand: Direction = down,
    tolerance: float = 0.008,
    speed: float = 0.8,
    up: float = 0.08,
) -> list[Move]:
    """Bring the *thing's* origin, not the hand, over the spot, lower it there and let go."""

    def hand_for(height: float) -> Position:
        return lambda w: spot(w) + vector(0, 0, height) + w.hand - w.position(thing)

    return [
        Move(
            stage="carry",
            target=hand_for(clearance),
            grip=CLOSED,
            hand=hand,
            speed=speed,
            at_most=80,
        ),
        Move(
            stage="lower",
            target=hand_for(0.0),
            grip=CLOSED,
            hand=hand,
            tolerance=tolerance,
            speed=0.4,
            at_most=30,
        ),
        *release(hand=hand, up=up),
    ]


def release(*, hand: Direction = down, up: float = 0.08, steps: int = 6) -> list[Move]:
    """Open the fingers and leave upwards."""
    return [
        stay("release", OPEN, steps=steps, hand=hand),
        shift("retreat", shifted(z=up), OPEN, hand=hand, speed=1.0, at_most=20),
    ]


LEAN = 1.5
"""Radians: fingers that point to −y and a little down. Level ones would stretch the elbow."""


def pull(name: str, handle: Position, *, by: float, opened: Condition) -> list[Move]:
    """Take a horizontal handle from its +y side and pull it towards +y until it is open."""
    hand = facing(lean=LEAN)

    def slipped(world: World) -> bool:
        return bool(np.linalg.norm(world.hand - handle(world)) > 0.04)

    return [
        *_hold(name, handle),
        Move(
            stage="pull",
            target=shifted(y=by),
            grip=CLOSED,
            hand=hand,
            fixed=True,
            tolerance=0.010,
            speed=0.8,
            until=lambda world: opened(world) or slipped(world),
            again_from=f"face {name}",
            again_if=lambda world: not opened(world),
        ),
        stay("release", OPEN, steps=5, hand=hand),
        shift("retreat", shifted(y=0.08, z=0.02), OPEN, hand=hand, speed=1.0, at_most=20),
    ]


def _hold(name: str, handle: Position) -> list[Move]:
    """Turn the hand, come along its fingers and close them, while the target corrects the hand."""
    hand = facing(lean=LEAN)
    away = vector(0, np.sin(LEAN), np.cos(LEAN))

    def off(distance: float) -> Position:
        return lambda world: handle(world) + distance * away

    return [
        Move(
            stage="turn hand",
            target=off(0.17),
            grip=OPEN,
            hand=hand,
            tolerance=0.05,
            tolerance_angle=0.25,
            at_most=90,
        ),
        Move(
            stage=f"face {name}",
            target=off(0.09),
            grip=OPEN,
            hand=hand,
            tolerance_angle=0.10,
            at_most=50,
        ),
        Move(
            stage=f"reach {name}",
            target=off(-0.002),
            grip=OPEN,
            hand=hand,
            tolerance=0.008,
            speed=0.5,
            at_most=30,
        ),
        Move(stage="close", target=off(-0.002), grip=CLOSED, hand=hand, at_least=12, at_most=12),
    ]


def twist(name: str, knob: Position, *, angle: float, turned: Condition) -> list[Move]:
    """Take a knob from above and turn the hand about the vertical until it is turned."""
    return [
        *reach(name, knob),
        stay("close", CLOSED, steps=8),
        Move(
            stage="twist",
            target=knob,
            grip=CLOSED,
            hand=facing(yaw=angle),
            tolerance=0.0,
            until=turned,
            again_from=f"above {name}",
            again_if=lambda world: not turned(world),
        ),
        *release(hand=facing(yaw=angle)),
    ]
