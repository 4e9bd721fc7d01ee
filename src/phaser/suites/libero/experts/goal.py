"""Scripted experts of the ten LIBERO-Goal tasks, composed of moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phaser.suites.libero.experts.moves import (
    CLOSED,
    OPEN,
    Move,
    grasp,
    place,
    pull,
    shift,
    shifted,
    twist,
)
from phaser.suites.libero.experts.world import (
    Direction,
    Position,
    World,
    at,
    at_body,
    at_site,
    down,
    facing,
)

BOWL, PLATE, CHEESE, BOTTLE = "akita_black_bowl_1", "plate_1", "cream_cheese_1", "wine_bottle_1"
CABINET_TOP = "wooden_cabinet_1_top_side"
STOVE_TOP = "flat_stove_1_cook_region"

OPENED = -0.152
"""A drawer's joint when it is far enough out; LIBERO asks for −0.14."""

PRESSING = 0.916
"""Height of the hand that lets the finger tips press on a plate on the table, 2 mm into it."""

TURNED_ON = 0.6
"""The stove's knob, radians; LIBERO asks for 0.5."""


def open_middle_drawer(world: World) -> list[Move]:
    return open_drawer("middle")


def open_drawer(which: str) -> list[Move]:
    body, joint = f"wooden_cabinet_1_cabinet_{which}", f"wooden_cabinet_1_{which}_level"
    return pull(
        "handle",
        # The bar of the handle; the last two shapes are its posts.
        lambda world: world.collision_centre(body, -3),
        by=0.175,
        opened=lambda world: world.joint(joint) < OPENED,
    )


def grasp_bowl(*, side: float, lift: float = 0.12, hand: Direction = down) -> list[Move]:
    """Pinch the rim, 5 cm from the middle, on the −y or +y side."""
    rim = at(BOWL, y=side * 0.049, z=0.030)
    return grasp("bowl", BOWL, rim, lift=lift, hand=hand, above=0.09, close_steps=12)


def bowl_on_stove(world: World) -> list[Move]:
    # The site lies on the table's height.
    burner = at_site(STOVE_TOP)
    return [*grasp_bowl(side=-1), *place(BOWL, level(burner, 0.934))]


def level(spot: Position, height: float) -> Position:
    """A spot's x and y at a given height."""
    return lambda world: np.array([*spot(world)[:2], height])


def bowl_on_plate(world: World) -> list[Move]:
    return [*grasp_bowl(side=+1), *place(BOWL, at(PLATE, z=0.012))]


def bowl_on_cabinet(world: World) -> list[Move]:
    top = at_site(CABINET_TOP, y=0.02, z=0.004)
    return [*grasp_bowl(side=-1, lift=0.30), *place(BOWL, top, clearance=0.08)]


def drawer_and_bowl(world: World) -> list[Move]:
    # The open drawer overhangs the bowl: lean the hand, lift only a little, slide out, then raise.
    leant = facing(lean=0.5)
    inside = level(at_site("wooden_cabinet_1_top_region", y=0.022), 1.068)
    clear = Move(
        stage="clear drawer",
        target=level(at(BOWL, y=0.17), 1.13),
        grip=OPEN,
        hand=leant,
        tolerance=0.04,
        tolerance_angle=0.15,
    )
    return [
        *open_drawer("top"),
        clear,
        *grasp_bowl(side=+1, lift=0.065, hand=leant),
        shift("slide out", shifted(y=0.10), CLOSED, hand=leant, tolerance=0.03, at_most=30),
        shift("raise", level(shifted(), 1.22), CLOSED, hand=leant),
        *place(BOWL, inside, clearance=0.12, hand=leant),
    ]


def grasp_bottle(*, lift: float) -> list[Move]:
    """By the neck, 12 cm above its base."""
    return grasp("bottle", BOTTLE, at(BOTTLE, z=0.122), lift=lift, above=0.09, tolerance=0.007)


def bottle_on_cabinet(world: World) -> list[Move]:
    top = at_site(CABINET_TOP, x=-0.02, y=0.03, z=0.003)
    return [
        *grasp_bottle(lift=0.30),
        *place(BOTTLE, top, clearance=0.05, tolerance=0.006, speed=1.0),
    ]


def bottle_on_rack(world: World) -> list[Move]:
    # A little into the shelf: success is the upright bottle's touch.
    shelf = at_site("wine_rack_1_top_region", y=-0.035, z=0.016)
    return [
        *grasp_bottle(lift=0.32),
        *place(BOTTLE, shelf, clearance=0.07, tolerance=0.006, speed=1.0),
    ]


def cheese_in_bowl(world: World) -> list[Move]:
    return [
        *grasp("cheese", CHEESE, at(CHEESE, z=0.006), lift=0.13, close_steps=8, tolerance=0.007),
        *place(CHEESE, at(BOWL, z=0.059), clearance=0.07, speed=1.0),
    ]


STOVE_FRONT = at_site("main_table_stove_front_region", x=0.010, y=0.010)


def push_plate(world: World) -> list[Move]:
    """Press the closed finger tips inside the plate, towards the goal, and drag it there.

    The cabinet's handles are in the way of pushing from behind.
    """

    def there(world: World) -> bool:
        return bool(np.linalg.norm(_plate_way(world)) < 0.02)

    def slipped(world: World) -> bool:
        return bool(np.linalg.norm((world.hand - world.position(PLATE))[:2]) > 0.062)

    return [
        Move(
            stage="rise",
            target=shifted(z=0.08),
            grip=CLOSED,
            fixed=True,
            tolerance=0.02,
            unless=lambda world: world.hand[2] > 1.0,
        ),
        Move(stage="above plate", target=_in_plate(0.10), grip=CLOSED, tolerance=0.015),
        Move(
            stage="press",
            target=level(_in_plate(0.0), 0.914),
            grip=CLOSED,
            tolerance=0.006,
            speed=0.6,
            at_most=16,
        ),
        Move(
            stage="push",
            target=_ahead,
            grip=CLOSED,
            tolerance=0.006,
            at_most=100,
            until=slipped,
            again_from="rise",
            again_if=lambda world: not there(world),
        ),
        shift("retreat", shifted(z=0.08), OPEN, speed=1.0, at_most=20),
    ]


def _plate_way(world: World) -> np.ndarray:
    """From the plate to where it shall be, over the table."""
    return (STOVE_FRONT(world) - world.position(PLATE))[:2]


def _in_plate(height: float) -> Position:
    """Inside the plate's rim, on the side that faces the goal."""

    def spot(world: World) -> np.ndarray:
        way = _plate_way(world)
        way *= 0.027 / (np.linalg.norm(way) + 1e-9)
        return world.position(PLATE) + np.array([*way, height])

    return spot


def _ahead(world: World) -> np.ndarray:
    """Just before the hand, just below the plate: the limit of xy leaves z its full force."""
    way = _plate_way(world)
    way *= min(1.0, 0.008 / (np.linalg.norm(way) + 1e-9))
    return np.array([*(world.hand[:2] + way), PRESSING])


def turn_on_stove(world: World) -> list[Move]:
    knob = "flat_stove_1_button"
    return twist(
        "knob",
        at_body(knob, x=-0.004, y=0.001, z=0.036),
        angle=1.0,
        turned=lambda world: world.joint(knob) > TURNED_ON,
    )


GOAL: dict[str, Callable[[World], list[Move]]] = {
    "open_the_middle_drawer_of_the_cabinet": open_middle_drawer,
    "put_the_bowl_on_the_stove": bowl_on_stove,
    "put_the_wine_bottle_on_top_of_the_cabinet": bottle_on_cabinet,
    "open_the_top_drawer_and_put_the_bowl_inside": drawer_and_bowl,
    "put_the_bowl_on_top_of_the_cabinet": bowl_on_cabinet,
    "push_the_plate_to_the_front_of_the_stove": push_plate,
    "put_the_cream_cheese_in_the_bowl": cheese_in_bowl,
    "turn_on_the_stove": turn_on_stove,
    "put_the_bowl_on_the_plate": bowl_on_plate,
    "put_the_wine_bottle_on_the_rack": bottle_on_rack,
}
