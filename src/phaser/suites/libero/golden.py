"""One recorded expert episode and all that it showed; replayed, it tells whether this machine,
these libraries and this protocol are the ones that results were made with.

`python -m phaser.suites.libero.golden` records it anew; only where the protocol or the simulator
was changed on purpose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from phaser.core.errors import BrokenFile
from phaser.core.files import write_bytes
from phaser.suites.frame_hash import hash_of
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.env import LiberoEnv
from phaser.suites.libero.experts.expert import Expert
from phaser.suites.libero.protocol import Protocol, protocol_named
from phaser.suites.libero.tasks import task_named

FILE = Path(__file__).with_name("golden.safetensors")
TASK, PROTOCOL = "put_the_bowl_on_the_plate", "phaser"
INITIAL_STATE = 7
"""Not the first: there fixtures seeded by state and in sequence would be the same."""
STEPS_BEYOND = 8
"""Actions that are kept after the one that solved the task, since elsewhere it may come later."""
THUMBNAIL_SIZE = 16
START_TOLERANCE, FINAL_TOLERANCE, GREY_LEVELS, STEPS = 1e-5, 1e-2, 6.0, 3
"""How far a replay may be off: processors round and GL libraries draw differently. Before the
robot has touched anything, roundings have not grown."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Outcome:
    """What an episode showed: how it began, what was seen and felt, how it ended."""

    step_limit: int
    waited_s: float
    """Simulated seconds before the first action."""
    cameras: tuple[str, ...]
    image_size: int
    thumbnails: UInt8[np.ndarray, "cameras size size 3"]
    frame_hash: str
    bodies: tuple[str, ...]
    """What stands in the world by itself: objects, fixtures, the robot's base."""
    positions: Float[np.ndarray, "bodies 3"]
    state: Float[np.ndarray, "state"]
    """What the robot felt of itself before the first action."""
    solved_at: int
    """The step that counted as success; 0 for none."""
    final: Float[np.ndarray, "positions"]
    """All of qpos at the end: joints in radians, objects in metres and quaternions."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Golden:
    """The stored episode."""

    protocol: dict[str, object]
    actions: Float[np.ndarray, "steps 7"]
    outcome: Outcome


def replay(actions: Float[np.ndarray, "steps 7"], protocol: Protocol, assets: Path) -> Outcome:
    """Give these actions to the golden task, from its golden start; the scene is kept."""
    return _episode(LiberoEnv(task_named(TASK), protocol, assets=assets), actions)


def differences(expected: Outcome, found: Outcome) -> Iterator[str]:
    """What is not as it was recorded, the first cause first."""
    yield from start_differences(expected, found)
    if not found.solved_at or abs(expected.solved_at - found.solved_at) > STEPS:
        yield f"{_solved(found.solved_at)}, recorded: {_solved(expected.solved_at)}"
    off = _apart(expected.final, found.final)
    if off > FINAL_TOLERANCE:
        yield f"the last state is off by {off:.2g} rad or m, tolerated are {FINAL_TOLERANCE:g}"


def start_differences(expected: Outcome, found: Outcome) -> Iterator[str]:
    """The same of what shows before the first action."""
    for name in ("step_limit", "cameras", "image_size", "bodies"):
        before, now = getattr(expected, name), getattr(found, name)
        if before != now:
            yield f"{name.replace('_', ' ')}: {now}, recorded: {before}"
    if abs(expected.waited_s - found.waited_s) > START_TOLERANCE:
        yield f"{found.waited_s:g} s were waited, recorded {expected.waited_s:g} s"
    yield from _moved(expected, found)
    if _apart(expected.state, found.state) > START_TOLERANCE:
        before, now = (np.round(one.state, 4).tolist() for one in (expected, found))
        yield f"the robot's state is {now}, recorded {before}"
    yield from _looks(expected, found)


def protocol_differences(golden: Golden, protocol: Protocol) -> Iterator[str]:
    """Fields of a protocol that are not as the golden episode was recorded with."""
    now = _plain(protocol)
    for name in sorted(golden.protocol.keys() | now.keys()):
        if golden.protocol.get(name) != now.get(name):
            yield f"{name} is {now.get(name)!r}, recorded {golden.protocol.get(name)!r}"


def golden() -> Golden:
    """The episode that comes with the package."""
    try:
        with safe_open(FILE, "numpy") as stored:
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            words = json.loads(stored.metadata()["words"])
    except (OSError, SafetensorError) as error:
        raise BrokenFile(f"{FILE} is damaged ({error}); reinstall phaser-vla") from error
    words |= {name: tuple(words[name]) for name in ("cameras", "bodies")}
    return Golden(
        protocol=words.pop("protocol"),
        actions=arrays.pop("actions"),
        outcome=Outcome(**arrays, **words),
    )


def write(recorded: Golden, path: Path = FILE) -> None:
    values = {field.name: getattr(recorded.outcome, field.name) for field in fields(Outcome)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    words = {name: value for name, value in values.items() if name not in arrays}
    words["protocol"] = recorded.protocol
    content = save({"actions": recorded.actions, **arrays}, {"words": json.dumps(words)})
    write_bytes(path, content)


def record(protocol: Protocol, assets: Path) -> Golden:
    """The expert's own episode, and what it shows when its actions are replayed."""
    env = LiberoEnv(task_named(TASK), protocol, assets=assets)
    env.place(INITIAL_STATE)
    expert = Expert(TASK, env.simulator.model, env.simulator.data)
    actions: list[np.ndarray] = []
    solved_at = protocol.step_limit(env.simulator.suite)
    while len(actions) < solved_at + STEPS_BEYOND:
        actions.append(expert.decide()[0])
        if env.step(actions[-1]):
            solved_at = min(solved_at, len(actions))
    shown = replay(np.array(actions), protocol, assets)
    return Golden(protocol=_plain(protocol), actions=np.array(actions), outcome=shown)


def _episode(env: LiberoEnv, actions: Float[np.ndarray, "steps 7"]) -> Outcome:
    first = env.reset(INITIAL_STATE)
    model, data = env.simulator.model, env.simulator.data
    standing = [body for body in range(1, model.nbody) if model.body_parentid[body] == 0]
    waited_s, positions = float(data.time), data.xpos[standing].copy()
    limit = env.protocol.step_limit(env.simulator.suite)
    solved_at = 0
    for step, action in enumerate(actions[:limit], start=1):
        if env.step(action) and not solved_at:
            solved_at = step
    images = [first.images[camera] for camera in env.protocol.cameras]
    return Outcome(
        step_limit=limit,
        waited_s=waited_s,
        cameras=tuple(first.images),
        image_size=len(images[0]),
        thumbnails=np.stack([_thumbnail(image) for image in images]),
        frame_hash=hash_of(first.images),
        bodies=tuple(model.body(body).name for body in standing),
        positions=positions,
        state=np.asarray(first.state, np.float64),
        solved_at=solved_at,
        final=data.qpos.copy(),
    )


def _thumbnail(image: UInt8[np.ndarray, "height width 3"]) -> UInt8[np.ndarray, "size size 3"]:
    size = (THUMBNAIL_SIZE, THUMBNAIL_SIZE)
    return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BOX))


def _moved(expected: Outcome, found: Outcome) -> Iterator[str]:
    """The body that stands farthest from where it stood."""
    if expected.bodies != found.bodies:
        return
    metres = np.linalg.norm(expected.positions - found.positions, axis=1)
    if metres.max() > START_TOLERANCE:
        body = expected.bodies[int(metres.argmax())]
        yield f"{body} stands {1000 * metres.max():.2g} mm from where it stood"


def _looks(expected: Outcome, found: Outcome) -> Iterator[str]:
    """Cameras whose picture is another: black, turned, mirrored or of something else."""
    before = dict(zip(expected.cameras, expected.thumbnails, strict=True))
    for camera, now in zip(found.cameras, found.thumbnails, strict=True):
        if camera in before:
            levels = np.abs(now.astype(float) - before[camera]).mean()
            if levels > GREY_LEVELS:
                yield f"{camera} shows another picture ({levels:.0f} of 255 grey levels apart)"


def _apart(before: np.ndarray, now: np.ndarray) -> float:
    return float(np.abs(before - now).max()) if before.shape == now.shape else np.inf


def _solved(step: int) -> str:
    return f"solved at step {step}" if step else "not solved"


def _plain(protocol: Protocol) -> dict[str, object]:
    """As JSON would give it back; the name says nothing about what happens."""
    plain: dict[str, object] = json.loads(json.dumps(asdict(protocol)))
    del plain["name"]
    return plain


if __name__ == "__main__":
    write(record(protocol_named(PROTOCOL), assets_folder("libero-goal")))
