"""Scripted experts of two LIBERO-Long tasks that put a thing into a narrow space, hand turned."""

from __future__ import annotations

import numpy as np

from phaser.suites.libero.experts.goal import level
from phaser.suites.libero.experts.moves import (
    CLOSED,
    OPEN,
    Move,
    grasp,
    held,
    place,
    shift,
    shifted,
    stay,
)
from phaser.suites.libero.experts.world import (
    Position,
    Rotation,
    Vector,
    World,
    at,
    facing,
    vector,
    within,
)

BOOK, MUG, OVEN = "black_book_1", "white_yellow_mug_1", "microwave_1"


def book_in_caddy(world: World) -> list[Move]:
    """By its top edge, however it stands; then turned so that it fits the compartment."""
    middle = vector(0, -0.012, 0)

    def as_it_stands(world: World) -> Rotation:
        thickness = world.rotation(BOOK)[:, 0]
        yaw = np.arctan2(thickness[1], thickness[0]) - np.pi / 2
        # Of the two ways to hold it, the one that is nearer to how it will be let go.
        return facing(yaw=(yaw + 1.2) % np.pi - 1.2)(world)

    def inside(world: World) -> Vector:
        compartment = world.site("desk_caddy_1_back_contain_region")
        return compartment + vector(0, 0, -0.05) - world.rotation(BOOK) @ middle

    top = within(BOOK, y=middle[1], z=0.115)
    return [
        *grasp("book", BOOK, top, lift=0.21, hand=as_it_stands, tolerance=0.007),
        *place(BOOK, inside, clearance=0.16, hand=facing(yaw=-np.pi / 2)),
    ]


FORWARD = facing(yaw=np.pi / 2, lean=-0.7)
"""The fingers point to +y and down, and open along x; flatter, the arm could not stretch enough."""


def mug_in_microwave(world: World) -> list[Move]:
    return [*grasp_handle(), *mug_inside(), *shut_door()]


def grasp_handle() -> list[Move]:
    """From −y, where the mug's handle is: behind it the hand stays out of the oven."""

    def handle(y: float, z: float) -> Position:
        return at(MUG, y=y - 0.066, z=z + 0.056)

    return [
        Move(
            stage="turn hand",
            target=handle(-0.10, 0.08),
            grip=OPEN,
            hand=FORWARD,
            tolerance=0.03,
            tolerance_angle=0.2,
            at_most=80,
        ),
        Move(
            stage="face mug",
            target=handle(-0.06, 0.0),
            grip=OPEN,
            hand=FORWARD,
            tolerance=0.02,
            at_most=40,
        ),
        Move(
            stage="reach mug",
            target=handle(0.0, 0.0),
            grip=OPEN,
            hand=FORWARD,
            speed=0.5,
            tolerance=0.008,
        ),
        stay("close", CLOSED, steps=10, hand=FORWARD),
        Move(
            stage="lift mug",
            target=shifted(z=0.06),
            grip=CLOSED,
            hand=FORWARD,
            fixed=True,
            tolerance=0.02,
            speed=0.75,
            again_from="turn hand",
            again_if=lambda world: not held(world, MUG, reach=0.12),
        ),
    ]


def mug_inside() -> list[Move]:
    """Past the tip of a door that is not quite open, which the hand then pushes aside."""

    def mug_to(y: float, height: float, x: float = -0.04) -> Position:
        def target(world: World) -> Vector:
            oven = world.site(f"{OVEN}_heating_region")
            spot = vector(oven[0] + x, oven[1] + y, height)
            return spot + world.hand - world.position(MUG)

        return target

    return [
        Move(
            stage="carry",
            target=mug_to(-0.22, 0.962, x=0.03),
            grip=CLOSED,
            hand=FORWARD,
            tolerance=0.015,
            speed=0.7,
            at_most=80,
        ),
        Move(stage="line up", target=mug_to(-0.15, 0.960), grip=CLOSED, hand=FORWARD, speed=0.6),
        Move(stage="insert", target=mug_to(-0.01, 0.958), grip=CLOSED, hand=FORWARD, speed=0.5),
        Move(
            stage="lower",
            target=mug_to(-0.01, 0.947),
            grip=CLOSED,
            hand=FORWARD,
            tolerance=0.006,
            speed=0.4,
            at_most=15,
        ),
        stay("release", OPEN, steps=6, hand=FORWARD),
        shift("retreat", shifted(y=-0.14), OPEN, hand=FORWARD),
    ]


def shut_door() -> list[Move]:
    """Over the open door to its outer side, then push it along its arc, fingers down."""
    return [
        Move(
            stage="rise",
            target=level(shifted(), 1.22),
            grip=CLOSED,
            fixed=True,
            tolerance=0.02,
        ),
        Move(
            stage="above door",
            target=_on_door(0.30, along=0.15, off=0.10),
            grip=CLOSED,
            tolerance=0.03,
        ),
        Move(
            stage="beside door",
            target=_on_door(0.14, along=0.15, off=0.08),
            grip=CLOSED,
            tolerance=0.02,
        ),
        Move(
            stage="push door",
            target=_on_door(0.14, along=0.17, off=0.02, ahead=0.35),
            grip=CLOSED,
            speed=0.8,
            tolerance=0.0,
            at_most=80,
            until=_is_shut,
            again_from="rise",
            again_if=lambda world: not _is_shut(world),
        ),
    ]


def _on_door(z: float, *, along: float, off: float, ahead: float = 0.0) -> Position:
    """A point beside the door as it stands, or as it will when it is shut by `ahead` more."""
    hinge = vector(-0.187, -0.087, 0.0)

    def target(world: World) -> Vector:
        angle = -world.joint(f"{OVEN}_microjoint") - ahead
        outwards = vector(np.cos(angle), -np.sin(angle), 0)
        normal = vector(-np.sin(angle), -np.cos(angle), 0)
        corner = world.position(OVEN) + hinge + vector(0, 0, z)
        return corner + along * outwards + off * normal

    return target


def _is_shut(world: World) -> bool:
    # LIBERO asks for −0.005 rad.
    return world.joint(f"{OVEN}_microjoint") > -0.003
