"""The observation contract: what a policy sees and commands, as one typed value.

Most "0 % success" reports of this field are a policy that was trained under one contract and
evaluated under another. So every suite states it, every checkpoint carries it, and a run that
meets another one is refused. A field means the same in every suite.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from phaser.core.demonstration import ActionLayout
from phaser.core.errors import BadInput

Orientation = Literal["upright", "opengl", "rotated"]
"""How images stand: as a camera sees, with rows from bottom to top, or that turned by 180°."""


CONSTANT = 1e-6
"""A number that deviates by less than this share of its size never changes, but for rounding."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics:
    """Ranges of each number of a state or an action over demonstrations; fixed for a run."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    min: tuple[float, ...]
    max: tuple[float, ...]
    q01: tuple[float, ...]
    """The first percentile."""
    q99: tuple[float, ...]

    def __post_init__(self) -> None:
        sizes = {name: len(values) for name, values in asdict(self).items()}
        if len(set(sizes.values())) != 1:
            raise BadInput(f"statistics of different lengths: {sizes}; expected one length")

    @property
    def scale(self) -> tuple[float, ...]:
        """Divisors that are never 0: the deviation, and 1 for a number that never changes."""
        return tuple(
            std if std > CONSTANT * max(1.0, abs(mean)) else 1.0
            for std, mean in zip(self.std, self.mean, strict=True)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract:
    """What a policy of a suite sees and commands."""

    suite: str
    """The kind of suite, such as metaworld."""
    cameras: tuple[str, ...]
    """Names of the cameras, in the order in which a policy reads them."""
    image_size: tuple[int, int]
    """Height and width of every image in pixels."""
    orientation: Orientation = "upright"
    """How images stand: "upright", "opengl" (rows from bottom to top), or "rotated" (that turned
    by 180°)."""
    state: tuple[str, ...]
    """Names of the state's numbers."""
    state_centre: tuple[float, ...]
    """What is subtracted from a state before a network reads it. Fixed: statistics of the data
    would change as tasks arrive, and with them the meaning of stored frames."""
    state_scale: tuple[float, ...]
    """What the centred state is divided by."""
    action: tuple[str, ...]
    """Names of the action's numbers."""
    layout: ActionLayout
    """Which of them move the arm and which command the gripper."""
    state_statistics: Statistics | None = None
    """For policies that normalise by the data; None where the suite does not know them."""
    action_statistics: Statistics | None = None
    """The same of actions."""
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the suite's evaluation fixes, as JSON; compared, never read."""

    def __post_init__(self) -> None:
        if self.orientation not in get_args(Orientation):
            raise BadInput(
                f"orientation {self.orientation!r}; expected one of {get_args(Orientation)}"
            )
        widths = {len(self.state), len(self.state_centre), len(self.state_scale)}
        if len(widths) != 1:
            raise BadInput(
                f"{len(self.state)} state names, {len(self.state_centre)} centres and "
                f"{len(self.state_scale)} scales; expected as many of each"
            )
        if any(scale <= 0 for scale in self.state_scale):
            raise BadInput(f"state_scale {self.state_scale}; expected numbers above 0")

    def to_json(self) -> dict[str, Any]:
        """The contract as a file gives it back: lists for tuples, the layout's parts by name."""
        flat = asdict(self)
        flat |= flat.pop("layout")
        found: dict[str, Any] = json.loads(json.dumps(flat))
        return found
