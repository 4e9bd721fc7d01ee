"""A GL backend is chosen before mujoco is imported, or one line says what to install."""

from __future__ import annotations

import pytest

from phaser.core.errors import BadInput, MissingDependency
from phaser.suites.gl import choose_gl


@pytest.mark.parametrize(
    ("loadable", "expected"),
    [({"osmesa", "egl"}, "osmesa"), ({"osmesa"}, "osmesa"), ({"egl"}, "egl")],
)
def test_the_first_backend_that_loads_is_set(loadable: set[str], expected: str) -> None:
    environment: dict[str, str] = {}
    assert choose_gl(environment, loadable.__contains__) == expected
    assert environment == {"MUJOCO_GL": expected}


def test_the_choice_of_the_user_is_respected() -> None:
    environment = {"MUJOCO_GL": "egl"}
    assert choose_gl(environment, {"egl", "osmesa"}.__contains__) == "egl"
    assert choose_gl({"MUJOCO_GL": "glfw"}, set().__contains__) == "glfw"


def test_without_any_library_one_line_says_what_to_install() -> None:
    with pytest.raises(MissingDependency, match="apt-get install libosmesa6"):
        choose_gl({}, lambda backend: False)


def test_a_chosen_backend_that_does_not_load_is_an_error() -> None:
    with pytest.raises(MissingDependency, match="MUJOCO_GL=egl"):
        choose_gl({"MUJOCO_GL": "egl"}, {"osmesa"}.__contains__)
    with pytest.raises(BadInput, match="expected one of osmesa, egl, glfw"):
        choose_gl({"MUJOCO_GL": "vulkan"}, lambda backend: True)
