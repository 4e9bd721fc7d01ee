"""LIBERO's four suites of ten tasks as data, in LIBERO's own order, with its instructions.

Kept here because `libero.libero.benchmark`, which knows them, imports torch; a simulator must not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from phaser.core.demonstration import Task
from phaser.core.errors import BadInput, UnknownName

SUITES: dict[str, tuple[str, ...]] = {
    "libero-goal": (
        "open_the_middle_drawer_of_the_cabinet",
        "put_the_bowl_on_the_stove",
        "put_the_wine_bottle_on_top_of_the_cabinet",
        "open_the_top_drawer_and_put_the_bowl_inside",
        "put_the_bowl_on_top_of_the_cabinet",
        "push_the_plate_to_the_front_of_the_stove",
        "put_the_cream_cheese_in_the_bowl",
        "turn_on_the_stove",
        "put_the_bowl_on_the_plate",
        "put_the_wine_bottle_on_the_rack",
    ),
    "libero-10": (
        "LIVING_ROOM_SCENE2_put_both_the_alphabet_soup_and_the_tomato_sauce_in_the_basket",
        "LIVING_ROOM_SCENE2_put_both_the_cream_cheese_box_and_the_butter_in_the_basket",
        "KITCHEN_SCENE3_turn_on_the_stove_and_put_the_moka_pot_on_it",
        "KITCHEN_SCENE4_put_the_black_bowl_in_the_bottom_drawer_of_the_cabinet_and_close_it",
        "LIVING_ROOM_SCENE5_put_the_white_mug_on_the_left_plate_"
        "and_put_the_yellow_and_white_mug_on_the_right_plate",
        "STUDY_SCENE1_pick_up_the_book_and_place_it_in_the_back_compartment_of_the_caddy",
        "LIVING_ROOM_SCENE6_put_the_white_mug_on_the_plate_"
        "and_put_the_chocolate_pudding_to_the_right_of_the_plate",
        "LIVING_ROOM_SCENE1_put_both_the_alphabet_soup_and_the_cream_cheese_box_in_the_basket",
        "KITCHEN_SCENE8_put_both_moka_pots_on_the_stove",
        "KITCHEN_SCENE6_put_the_yellow_and_white_mug_in_the_microwave_and_close_it",
    ),
    "libero-spatial": tuple(
        f"pick_up_the_black_bowl_{place}_and_place_it_on_the_plate"
        for place in (
            "between_the_plate_and_the_ramekin",
            "next_to_the_ramekin",
            "from_table_center",
            "on_the_cookie_box",
            "in_the_top_drawer_of_the_wooden_cabinet",
            "on_the_ramekin",
            "next_to_the_cookie_box",
            "on_the_stove",
            "next_to_the_plate",
            "on_the_wooden_cabinet",
        )
    ),
    "libero-object": tuple(
        f"pick_up_the_{thing}_and_place_it_in_the_basket"
        for thing in (
            "alphabet_soup",
            "cream_cheese",
            "salad_dressing",
            "bbq_sauce",
            "ketchup",
            "tomato_sauce",
            "butter",
            "milk",
            "chocolate_pudding",
            "orange_juice",
        )
    ),
}
ALIASES = {"libero-long": "libero-10"}
_SUITE_OF = {task: suite for suite, tasks in SUITES.items() for task in tasks}
# A name of LIBERO-100 begins with its room and the number of its scene.
_SCENE = re.compile(r"[A-Z_]+_SCENE\d+_")


def suite_named(name: str) -> str:
    """The suite's own name; the paper's LIBERO-Long is libero-10 in LIBERO's files."""
    suite = ALIASES.get(name, name)
    if suite not in SUITES:
        raise UnknownName("LIBERO suite", name, [*SUITES, *ALIASES])
    return suite


def suite_of(task: str) -> str:
    """The suite a task belongs to; no task name occurs in two."""
    if task not in _SUITE_OF:
        raise UnknownName("LIBERO task", task, _SUITE_OF)
    return _SUITE_OF[task]


def instruction_of(name: str) -> str:
    """What the policy is told: the file name without its scene, as LIBERO derives it."""
    return _SCENE.sub("", name, count=1).replace("_", " ")


def task_named(name: str) -> Task:
    suite_of(name)
    return Task(name=name, instruction=instruction_of(name))


def task_names(tasks: str | Sequence[str]) -> tuple[str, ...]:
    """Names of a suite's tasks, of one task, or of any tasks, each at most once."""
    if isinstance(tasks, str):
        if tasks in _SUITE_OF:
            return (tasks,)
        if tasks not in SUITES and tasks not in ALIASES:
            raise UnknownName("LIBERO suite or task", tasks, [*SUITES, *ALIASES, *_SUITE_OF])
        return SUITES[suite_named(tasks)]
    names = tuple(task_named(name).name for name in tasks)
    if not names or len(set(names)) != len(names):
        raise BadInput(f"tasks {', '.join(names) or '(none)'}; name at least one, each only once")
    return names
