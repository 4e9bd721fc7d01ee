"""Scripted experts of the ten LIBERO-Long tasks (libero_10): most do two things in a row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phaser.suites.libero.experts.goal import STOVE_TOP, level, turn_on_stove
from phaser.suites.libero.experts.long_inside import book_in_caddy, mug_in_microwave
from phaser.suites.libero.experts.moves import CLOSED, Move, grasp, place, shift, shifted
from phaser.suites.libero.experts.world import (
    DOWN,
    Direction,
    Position,
    Rotation,
    World,
    at,
    at_site,
    down,
    facing,
    turn,
    vector,
)

SOUP, SAUCE, CHEESE, BUTTER = "alphabet_soup_1", "tomato_sauce_1", "cream_cheese_1", "butter_1"
WHITE_MUG, YELLOW_MUG, PUDDING = "porcelain_mug_1", "white_yellow_mug_1", "chocolate_pudding_1"
BOWL = "akita_black_bowl_1"
BASKET = "basket_1_contain_region"
SPOKEN = {SOUP: "soup", SAUCE: "sauce", CHEESE: "cheese", BUTTER: "butter", PUDDING: "pudding"}
"""Things by the names that stages call them."""


def leant_away(world: World) -> Rotation:
    """Palm to +x, by little: the arm is nearly stretched where this is used."""
    return turn(vector(0, 1, 0), 0.25) @ DOWN


def grasp_can(can: str) -> list[Move]:
    """Around the body, whose middle is a little off the origin; 6 of the fingers' 8 cm."""
    middle = at(can, y=-0.003, z=0.012)
    return grasp(SPOKEN[can], can, middle, lift=0.16, above=0.12, tolerance=0.007)


def grasp_box(box: str, *, x: float = 0.0, hand: Direction = down) -> list[Move]:
    """Across its narrow side."""
    spot = at(box, x=x, z=0.004)
    return grasp(SPOKEN[box], box, spot, lift=0.16, above=0.12, hand=hand, tolerance=0.007)


def can_in_basket(can: str, *, x: float) -> list[Move]:
    """Let go inside, on the −x or +x half, so that two cans find room."""
    return [*grasp_can(can), *place(can, at_site(BASKET, x=x, z=0.026))]


def box_in_basket(box: str, *, x: float = 0.0, hand: Direction = down) -> list[Move]:
    """Let go in the middle: the box is long, and the palm does not fit between the walls."""
    return [*grasp_box(box, x=x, hand=hand), *place(box, at_site(BASKET, z=0.045))]


def soup_and_sauce(world: World) -> list[Move]:
    return [*can_in_basket(SOUP, x=-0.033), *can_in_basket(SAUCE, x=0.033)]


def soup_and_cheese(world: World) -> list[Move]:
    return [*can_in_basket(SOUP, x=-0.033), *box_in_basket(CHEESE)]


def cheese_and_butter(world: World) -> list[Move]:
    # The milk stands beside the cheese, where an upright hand would come down on it.
    return [*box_in_basket(CHEESE, x=0.03, hand=leant_away), *box_in_basket(BUTTER)]


def grasp_white_mug() -> list[Move]:
    """By the rim, on the side without the handle."""
    rim = at(WHITE_MUG, y=-0.057, z=0.092)
    return grasp("white mug", WHITE_MUG, rim, lift=0.14, tolerance=0.007)


def grasp_yellow_mug() -> list[Move]:
    """Likewise; its handle is on the other side."""
    rim = at(YELLOW_MUG, y=0.063, z=0.090)
    return grasp("yellow mug", YELLOW_MUG, rim, lift=0.14, tolerance=0.007)


def two_mugs(world: World) -> list[Move]:
    return [
        *grasp_white_mug(),
        *place(WHITE_MUG, at("plate_1", y=0.008, z=0.006)),
        *grasp_yellow_mug(),
        *place(YELLOW_MUG, at("plate_2", y=-0.012, z=0.009)),
    ]


def mug_and_pudding(world: World) -> list[Move]:
    # On the far side of the region, clear of the plate.
    right = level(at_site("living_room_table_plate_right_region", y=0.025), 0.453)
    return [
        *grasp_white_mug(),
        *place(WHITE_MUG, at("plate_1", y=0.005, z=0.006)),
        *grasp_box(PUDDING),
        *place(PUDDING, right),
    ]


def pot_on_stove(pot: str, *, x: float = 0.0) -> list[Move]:
    """By the knob of its lid, above the centre of mass."""
    burner = level(at_site(STOVE_TOP, x=x), 0.999)
    knob = at(pot, y=0.001, z=0.078)
    return [
        *grasp("pot", pot, knob, lift=0.12, tolerance=0.006),
        *place(pot, burner, clearance=0.06),
    ]


def stove_and_pot(world: World) -> list[Move]:
    return [*turn_on_stove(world), *pot_on_stove("moka_pot_1")]


def both_pots(world: World) -> list[Move]:
    # The far one first: the hand then does not reach over it.
    return [*pot_on_stove("moka_pot_2", x=0.048), *pot_on_stove("moka_pot_1", x=-0.048)]


def bowl_in_drawer(world: World) -> list[Move]:
    # The handle of the drawer above overhangs: pinch the bowl at its −x side, palm to −y.
    leant = facing(yaw=np.pi / 2, lean=-0.35)
    rim = at(BOWL, x=-0.049, z=0.032)
    inside = level(at_site("white_cabinet_1_bottom_region", x=0.02, y=-0.022), 0.945)
    return [
        *grasp("bowl", BOWL, rim, lift=0.16, hand=leant, close_steps=12),
        *place(BOWL, inside, clearance=0.10, hand=leant),
        *push_drawer(),
    ]


def push_drawer() -> list[Move]:
    """With the closed fingers on the handle's bar, towards +y."""
    leant = facing(yaw=np.pi / 2, lean=-0.6)
    drawer = "white_cabinet_1_cabinet_bottom"

    def handle(y: float, z: float) -> Position:
        # The bar; the last two shapes are its posts.
        return lambda world: world.collision_centre(drawer, -3) + vector(0, y, z)

    def is_shut(world: World) -> bool:
        return world.joint("white_cabinet_1_bottom_level") > 0.004

    return [
        Move(
            stage="turn hand", target=handle(-0.07, 0.14), grip=CLOSED, hand=leant, tolerance=0.03
        ),
        Move(stage="face handle", target=handle(-0.06, 0.005), grip=CLOSED, hand=leant),
        Move(
            stage="push",
            target=handle(0.05, 0.005),
            grip=CLOSED,
            hand=leant,
            speed=0.6,
            until=is_shut,
            again_from="turn hand",
            again_if=lambda world: not is_shut(world),
        ),
        shift("retreat", shifted(y=-0.06, z=0.02), CLOSED, hand=leant, at_most=20),
    ]


LONG: dict[str, Callable[[World], list[Move]]] = {
    "LIVING_ROOM_SCENE2_put_both_the_alphabet_soup_and_the_tomato_sauce_in_the_basket": (
        soup_and_sauce
    ),
    "LIVING_ROOM_SCENE2_put_both_the_cream_cheese_box_and_the_butter_in_the_basket": (
        cheese_and_butter
    ),
    "KITCHEN_SCENE3_turn_on_the_stove_and_put_the_moka_pot_on_it": stove_and_pot,
    "KITCHEN_SCENE4_put_the_black_bowl_in_the_bottom_drawer_of_the_cabinet_and_close_it": (
        bowl_in_drawer
    ),
    "LIVING_ROOM_SCENE5_put_the_white_mug_on_the_left_plate_"
    "and_put_the_yellow_and_white_mug_on_the_right_plate": two_mugs,
    "STUDY_SCENE1_pick_up_the_book_and_place_it_in_the_back_compartment_of_the_caddy": (
        book_in_caddy
    ),
    "LIVING_ROOM_SCENE6_put_the_white_mug_on_the_plate_"
    "and_put_the_chocolate_pudding_to_the_right_of_the_plate": mug_and_pudding,
    "LIVING_ROOM_SCENE1_put_both_the_alphabet_soup_and_the_cream_cheese_box_in_the_basket": (
        soup_and_cheese
    ),
    "KITCHEN_SCENE8_put_both_moka_pots_on_the_stove": both_pots,
    "KITCHEN_SCENE6_put_the_yellow_and_white_mug_in_the_microwave_and_close_it": mug_in_microwave,
}
