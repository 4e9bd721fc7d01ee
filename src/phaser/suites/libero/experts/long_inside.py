"""Scripted experts of two LIBERO-Long tasks that put a thing into a narrow space, hand turned."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phaser.suites.libero.experts.moves import (
    CLOSED,
    Move,
    grasp,
    place,
    release,
    shift,
    shifted,
    stay,
)
from phaser.suites.libero.experts.world import (
    Position,
    Rotation,
    World,
    at,
    at_site,
    down,
    facing,
    vector,
    within,
)

BOOK, MUG = "black_book_1", "white_yellow_mug_1"
ACROSS = facing(yaw=-np.pi / 2)
"""The hand points down and its fingers open along x."""


def book_in_caddy(world: World) -> list[Move]:
    """By the top edge, as the book happens to stand; then turned so that it fits."""

    def as_it_stands(world: World) -> Rotation:
        thickness = world.rotation(BOOK)[:, 0]
        yaw = np.arctan2(thickness[1], thickness[0]) - np.pi / 2
        # Of the two ways to hold it, the one that is nearer to how it will be let go.
        return facing(yaw=(yaw + 1.2) % np.pi - 1.2)(world)

    def inside(world: World) -> np.ndarray:
        middle = world.rotation(BOOK) @ vector(0, -0.012, 0)
        return world.site("desk_caddy_1_back_contain_region") - middle + vector(0, 0, -0.05)

    top = within(BOOK, y=-0.012, z=0.115)
    return [
        *grasp("book", BOOK, top, lift=0.21, hand=as_it_stands, tolerance=0.007),
        *place(BOOK, inside, clearance=0.16, hand=ACROSS),
    ]


def mug_in_microwave(world: World) -> list[Move]:
    # Along the handle into the oven: only the fingers go in.
    forward = facing(yaw=np.pi / 2, lean=-1.1)
    handle = at(MUG, y=-0.066, z=0.056)

    def before(y: float, z: float) -> Position:
        return lambda world: handle(world) + vector(0, y, z)

    def mug_to(y: float, z: float) -> Position:
        def target(world: World) -> np.ndarray:
            inside = world.site("microwave_1_heating_region") * [1, 1, 0] + vector(-0.04, y, z)
            return inside + world.hand - world.position(MUG)

        return target

    return [
        Move(
            stage="turn hand",
            target=before(-0.10, 0.08),
            grip=-1.0,
            hand=forward,
            tolerance=0.03,
            tolerance_angle=0.2,
            at_most=80,
        ),
        Move(stage="face mug", target=before(-0.06, 0.0), grip=-1.0, hand=forward),
        Move(
            stage="reach mug", target=before(0, 0), grip=-1.0, hand=forward, speed=0.5, tolerance=0.008
        ),
        stay("close", CLOSED, steps=10, hand=forward),
        shift("lift mug", shifted(z=0.06), CLOSED, hand=forward),
        Move(
            stage="carry",
            target=mug_to(-0.20, 0.962),
            grip=CLOSED,
            hand=forward,
            speed=0.7,
            at_most=80,
        ),
        Move(stage="insert", target=mug_to(-0.01, 0.958), grip=CLOSED, hand=forward, speed=0.5),
        Move(
            stage="lower", target=mug_to(-0.01, 0.947), grip=CLOSED, hand=forward, speed=0.4, at_most=15
        ),
        stay("release", -1.0, steps=6, hand=forward),
        shift("retreat", shifted(y=-0.14), -1.0, hand=forward),
        *shut_door(),
    ]


HINGE = vector(-0.187, -0.087, 0.0)
"""Of the microwave's door, from the microwave's origin."""


def shut_door() -> list[Move]:
    """Over the open door to its outer side, then along its arc, fingers down."""

    def on_door(along: float, off: float, z: float, ahead: float = 0.0) -> Position:
        def target(world: World) -> np.ndarray:
            angle = max(-world.joint("microwave_1_microjoint") - ahead, -0.05)
            outwards = vector(np.cos(angle), -np.sin(angle), 0)
            normal = vector(-np.sin(angle), -np.cos(angle), 0)
            origin = world.position("microwave_1") + HINGE
            return origin + along * outwards + off * normal + vector(0, 0, z)

        return target

    def is_shut(world: World) -> bool:
        return world.joint("microwave_1_microjoint") > -0.003

    return [
        shift("rise", lambda w: np.array([*w.hand[:2], 1.22]), CLOSED, hand=down, at_most=40),
        Move(stage="above door", target=on_door(0.15, 0.10, 0.30), grip=CLOSED, tolerance=0.03),
        Move(stage="beside door", target=on_door(0.15, 0.08, 0.14), grip=CLOSED, tolerance=0.02),
        Move(
            stage="push door",
            target=on_door(0.17, 0.02, 0.14, 0.35),
            grip=CLOSED,
            speed=0.8,
            at_most=120,
            until=is_shut,
        ),
        *release(up=0.1, steps=1),
    ]


LONG_INSIDE: dict[str, Callable[[World], list[Move]]] = {
    "STUDY_SCENE1_pick_up_the_book_and_place_it_in_the_back_compartment_of_the_caddy": (
        book_in_caddy
    ),
    "KITCHEN_SCENE6_put_the_yellow_and_white_mug_in_the_microwave_and_close_it": mug_in_microwave,
}
