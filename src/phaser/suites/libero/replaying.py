"""What was true during a demonstration that stores simulator states: LIBERO's own HDF5 files.

Each state is set, not simulated, so no action is needed and nothing drifts. The state of a step is
the one before its action.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.errors import BadInput
from phaser.demos import hdf5_guard as guard
from phaser.demos.hdf5 import open_hdf5
from phaser.demos.layouts import LAYOUTS
from phaser.suites.libero.predicates import Truth
from phaser.suites.libero.recorded_truths import RecordedTruths
from phaser.suites.mujoco_library import mujoco

Pose = tuple[Float[np.ndarray, "3"], Float[np.ndarray, "4"]]
_NUMBERS = r'\b{}="([^"<>]{{1,200}})"'


def replayed_file(domain: Any, path: Path) -> RecordedTruths:
    """The truths of every demonstration of a file, with the fixtures where each of them has them.

    `domain` is LIBERO's environment of the file's task; it is left in the last state.
    """
    layout = LAYOUTS["libero"].layout
    opened = open_hdf5(path, state_keys=("states",))
    truth, episodes = Truth(domain), []
    bodies = [fixture.root_body for fixture in domain.fixtures_dict.values()]
    for episode in opened.episodes:
        with guard.OPEN.borrowed(path) as file:
            demo = guard.group(file.root, episode.name, path)
            model = guard.text(demo, "model_file", path) or ""
        states = opened.demo(episode, layout).states
        with fixtures_at(domain, body_poses(model, bodies)):
            episodes.append(replayed(domain, truth, states))
    return RecordedTruths(names=truth.names, episodes=tuple(episodes))


def replayed(
    domain: Any, truth: Truth, states: Float[np.ndarray, "frames numbers"]
) -> tuple[tuple[bool, ...], ...]:
    """What was true in each of these states (time, positions, velocities)."""
    model, data, library = domain.sim.model._model, domain.sim.data._data, mujoco()
    if states.shape[1] != 1 + model.nq + model.nv:
        raise BadInput(
            f"simulator states of {states.shape[1]} numbers; this task's have "
            f"{1 + model.nq + model.nv}: the demonstrations are of another task or version"
        )
    found = []
    for state in states:
        data.time, data.qpos[:], data.qvel[:] = (
            state[0],
            state[1 : 1 + model.nq],
            state[1 + model.nq :],
        )
        library.mj_fwdPosition(model, data)
        found.append(truth.now())
    return tuple(found)


def body_poses(model_xml: str, bodies: list[str]) -> dict[str, Pose]:
    """Where a demonstration's model has these bodies; it is read as text, never loaded."""
    found: dict[str, Pose] = {}
    for body in bodies:
        tag = re.search(rf'<body\b[^<>]*\bname="{re.escape(body)}"[^<>]*>', model_xml)
        if tag is None:
            continue
        position, turn = (re.search(_NUMBERS.format(key), tag[0]) for key in ("pos", "quat"))
        try:
            found[body] = (
                np.array(position[1].split() if position else np.zeros(3), np.float64),
                np.array(turn[1].split() if turn else (1, 0, 0, 0), np.float64),
            )
        except ValueError as error:
            raise BadInput(f"the pose of {body!r} is no list of numbers ({error})") from error
        if found[body][0].shape != (3,) or found[body][1].shape != (4,):
            raise BadInput(f"the pose of {body!r} is {tag[0]}; expected 3 and 4 numbers")
    return found


@contextmanager
def fixtures_at(domain: Any, poses: Mapping[str, Pose]) -> Iterator[None]:
    """Cabinets and stoves at other places for a while; initial states do not hold them."""
    model = domain.sim.model._model
    before = model.body_pos.copy(), model.body_quat.copy()
    for body, (position, turn) in poses.items():
        model.body_pos[model.body(body).id] = position
        model.body_quat[model.body(body).id] = turn
    try:
        yield
    finally:
        model.body_pos[:], model.body_quat[:] = before
