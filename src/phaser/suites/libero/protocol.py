"""The evaluation protocol as data: every choice that changes a success rate of one policy.

A policy that was trained under one protocol and is evaluated under another loses 10 to 40 points,
silently. So the protocol is one value, named, stored with every result and checked by `doctor`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float, UInt8

from phaser.core.errors import BadInput, UnknownName
from phaser.core.ranges import COUNT, COUNT_OR_ZERO, between, check_ranges

CAMERAS = ("agentview", "robot0_eye_in_hand")
Orientation = Literal["opengl", "upright", "rotated"]
Quality = Literal["official", "fast"]
Gripper = Literal["minus-opens", "one-opens"]
State = Literal["pose", "pose-from-down", "joints"]
Success = Literal["once", "at-end"]
Fixtures = Literal["by-state", "in-sequence"]

OPENVLA_LIMITS = (
    ("libero-spatial", 220),
    ("libero-object", 280),
    ("libero-goal", 300),
    ("libero-10", 520),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """How a policy sees LIBERO, acts in it and is judged."""

    name: str
    """The name under which results are stored."""
    cameras: tuple[str, ...] = CAMERAS
    """Cameras that the policy sees, in order."""
    image_size: int = 256
    """Pixels of a side."""
    orientation: Orientation = "rotated"
    """"opengl": rows from bottom to top, as robosuite gives them. "upright": as a camera would
    see. "rotated": the first turned by 180 degrees, which mirrors the scene."""
    quality: Quality = "official"
    """"fast": no multisampling and no reflections; four times quicker on a CPU."""
    wait_steps: int = 10
    """Steps at the start in which nothing is commanded, so that objects settle."""
    wait_gripper: float = -1.0
    """What the gripper is told meanwhile, in the simulator's own sign."""
    control_hz: int = 20
    """Control steps in a second."""
    step_limits: tuple[tuple[str, int], ...] = OPENVLA_LIMITS
    """Control steps of an episode by suite, without the waiting."""
    gripper: Gripper = "minus-opens"
    """"minus-opens": the policy speaks the simulator's language, -1 opens, +1 closes.
    "one-opens": it gives 0 to close and 1 to open; at 0.5 and above it opens."""
    state: State = "pose"
    """"pose": position, axis-angle and both fingers. "joints": seven joints and both fingers.
    "pose-from-down": as "pose", the turn counted from a hand that points straight down, which is
    continuous where the first jumps between +pi and -pi."""
    success: Success = "once"
    """"once": the episode ends, solved, at the first step that fulfils the goal. "at-end": the goal
    must hold when the step limit is reached."""
    fixtures: Fixtures = "by-state"
    """Cabinets and stoves are placed at random (within 1 cm) at each reset, which the official
    initial states do not fix. "by-state": seeded with `seed` plus the number of the initial state.
    "in-sequence": seeded once with `seed`, so that it depends on how many resets came before."""
    seed: int = 0
    """The seed of where fixtures stand."""

    def __post_init__(self) -> None:
        kinds = {"orientation": Orientation, "quality": Quality, "gripper": Gripper}
        kinds |= {"state": State, "success": Success, "fixtures": Fixtures}
        for field, kind in kinds.items():
            if getattr(self, field) not in get_args(kind):
                raise UnknownName(f"{field} of a protocol", getattr(self, field), get_args(kind))
        if not self.cameras:
            raise BadInput("no cameras; expected at least one")
        odd = [limit for _, limit in self.step_limits if not COUNT.holds(limit)]
        if odd:
            raise BadInput(f"step_limits with {odd[0]!r}; expected {COUNT} each")
        check_ranges(
            self,
            image_size=between(16, 4096, whole=True),
            wait_steps=COUNT_OR_ZERO,
            wait_gripper=between(-1, 1),
            control_hz=between(1, 500, whole=True),
            # The simulator's generator takes 32 bits; states add their numbers to it.
            seed=between(0, 2**31, whole=True),
        )

    def to_json(self) -> dict[str, Any]:
        """As a file gives it back, where tuples are lists: contracts are compared with files."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found

    def step_limit(self, suite: str) -> int:
        limits = dict(self.step_limits)
        if suite not in limits:
            raise BadInput(f"protocol {self.name!r} has no step limit for {suite!r}")
        return limits[suite]

    def command(self, action: Float[np.ndarray, "7"]) -> Float[np.ndarray, "7"]:
        """What the simulator is told when a policy says this."""
        command = np.array(action, np.float64)
        if command.shape != (7,):
            raise BadInput(f"an action of shape {command.shape}; LIBERO takes 7 numbers")
        if self.gripper == "one-opens":
            command[6] = -1.0 if command[6] >= 0.5 else 1.0
        return command

    def action(self, command: Float[np.ndarray, "7"]) -> Float[np.ndarray, "7"]:
        """What a policy should say for the simulator to be told this: the label of a command."""
        action = np.array(command, np.float64)
        if self.gripper == "one-opens":
            action[6] = 1.0 if action[6] < 0 else 0.0
        return action

    def oriented(self, upright: UInt8[np.ndarray, "height width 3"]) -> np.ndarray:
        """An image as the policy sees it, from one as a camera would see it."""
        if self.orientation == "upright":
            return upright
        turned = upright[::-1] if self.orientation == "opengl" else upright[:, ::-1]
        return np.ascontiguousarray(turned)


PROTOCOLS = {
    one.name: one
    for one in (
        Protocol(name="openvla-oft", gripper="one-opens", fixtures="in-sequence"),
        Protocol(name="starvla", gripper="one-opens", fixtures="in-sequence", seed=7),
        Protocol(
            name="libero-lifelong",
            image_size=128,
            orientation="opengl",
            wait_steps=5,
            wait_gripper=0.0,
            step_limits=tuple((suite, 600) for suite, _ in OPENVLA_LIMITS),
            state="joints",
            fixtures="in-sequence",
            seed=10000,
        ),
        Protocol(
            name="phaser",
            image_size=96,
            orientation="upright",
            quality="fast",
            state="pose-from-down",
        ),
    )
}
"""Published protocols by name, and ours, which a CPU can afford.

openvla-oft and starvla resize and crop what they see themselves; that belongs to those policies.
"""


def protocol_named(name: str) -> Protocol:
    if name not in PROTOCOLS:
        raise UnknownName("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]


def changed(protocol: Protocol, **fields: object) -> Protocol:
    """A variant under a name that says so: a changed protocol is no longer the published one."""
    return replace(protocol, name=f"{protocol.name}, changed", **fields)  # type: ignore[arg-type]
