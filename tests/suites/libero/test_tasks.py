"""The four suites as data, as LIBERO itself has them."""

import ast

import pytest

from phaser.core.errors import BadInput, UnknownName
from phaser.suites.libero.assets import package_folder
from phaser.suites.libero.suite import Libero
from phaser.suites.libero.tasks import (
    SUITES,
    instruction_of,
    suite_of,
    task_named,
    task_names,
)


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_has_libero_s_own_tasks_in_its_own_order(suite: str, needs_libero: None) -> None:
    source = (package_folder() / "benchmark" / "libero_suite_task_map.py").read_text()
    published = ast.literal_eval(ast.parse(source).body[0].value)
    assert list(SUITES[suite]) == published[suite.replace("-", "_")]


@pytest.mark.parametrize(
    ("name", "instruction"),
    [
        ("put_the_bowl_on_the_stove", "put the bowl on the stove"),
        ("KITCHEN_SCENE8_put_both_moka_pots_on_the_stove", "put both moka pots on the stove"),
        (
            "LIVING_ROOM_SCENE10_put_the_red_mug_on_the_plate",
            "put the red mug on the plate",
        ),
    ],
)
def test_the_scene_is_no_part_of_an_instruction(name: str, instruction: str) -> None:
    assert instruction_of(name) == instruction


def test_every_task_is_found_by_its_name_alone() -> None:
    names = [name for tasks in SUITES.values() for name in tasks]
    assert len(set(names)) == len(names) == 40
    for suite, tasks in SUITES.items():
        assert {suite_of(name) for name in tasks} == {suite}
        assert [task_named(name).name for name in tasks] == list(tasks)


def test_long_is_another_word_for_libero_10() -> None:
    assert task_names("libero-long") == task_names("libero-10") == SUITES["libero-10"]
    assert task_names(SUITES["libero-10"][2]) == (SUITES["libero-10"][2],)
    assert task_names(SUITES["libero-goal"][:2]) == SUITES["libero-goal"][:2]


def test_unknown_names_answer_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean libero-goal"):
        task_names("libero-goals")
    with pytest.raises(UnknownName, match="did you mean turn_on_the_stove"):
        task_named("turn_on_the_stoves")
    with pytest.raises(BadInput, match="each only once"):
        task_names(["turn_on_the_stove", "turn_on_the_stove"])


def test_a_stream_may_have_fewer_tasks_drawn_by_its_number() -> None:
    streams = [Libero(task_list="libero-long", stream=0, num_tasks=5).for_seed(k) for k in range(8)]
    names = [tuple(task.name for task in one.tasks()) for one in streams]
    assert {len(set(one)) for one in names} == {5}
    assert len(set(names)) == 8
    assert {name for one in names for name in one} == set(SUITES["libero-10"])
    whole = Libero(task_list="libero-long", stream=3)
    assert [task.name for task in whole.tasks()[:5]] == list(names[3])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"num_tasks": 5}, "without a stream; take a preset of streams"),
        ({"num_tasks": 11, "stream": 0}, "a stream of 11 out of 10"),
        ({"num_tasks": 0, "stream": 0}, "num_tasks"),
    ],
)
def test_a_stream_of_tasks_that_are_not_there_is_refused(settings, expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        Libero(**settings)
