"""One source of demonstrations: a LeRobot dataset or an HDF5 file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from phaser.core.contract import Orientation
from phaser.core.demonstration import ActionLayout, Demo
from phaser.core.errors import BadInput
from phaser.demos.content_hash import remembered_sha256
from phaser.demos.hdf5_conventions import observed_after_action, stored_upside_down
from phaser.demos.layouts import LAYOUTS, NoLayout
from phaser.demos.lerobot import open_dataset
from phaser.demos.opening import HDF5_SUFFIXES, OpenedDemos, open_demos
from phaser.demos.turned import AS_STORED

ORIENTATIONS: dict[str, Orientation] = {
    AS_STORED: "opengl",
    "flip-vertical": "upright",
    "rotate-180": "rotated",
}
"""How images that are stored upside down stand once they are turned."""
_UNSAFE = re.compile(r"[^\w.-]+")
MAX_NAME = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where demonstrations lie, and how they are to be read."""

    path: Path
    layout: ActionLayout | str | None
    """Meaning of the action's numbers, by name or value; None: the source itself says it."""
    turn: str = AS_STORED
    state_keys: tuple[str, ...] = ()
    instruction: str = ""
    """The words of a file that has none of its own."""

    @property
    def is_lerobot(self) -> bool:
        return _is_lerobot(self.path)

    def open(self) -> OpenedDemos:
        """The source's tasks and demonstrations; none is read yet."""
        if self.is_lerobot:
            return self._opened(state_keys=None, instruction=None)
        try:
            return self._open_hdf5(None)
        except BadInput:
            if not self.instruction:
                raise
            return self._open_hdf5(self.instruction)

    def column_names(self, demo: Demo) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the state's numbers and of the action's, as far as the source says them."""
        if self.is_lerobot:
            shapes = open_dataset(self.path).shapes
            return shapes.state_names, shapes.action_names
        return _numbered("state", demo.states.shape[1]), _numbered("action", demo.actions.shape[1])

    def shows_after_action(self, observed: str) -> bool:
        """True where frame t was seen after action t; `by-file` lets the file decide."""
        if observed == "by-file":
            return not self.is_lerobot and observed_after_action(self.path)
        return observed == "after"

    @property
    def is_upside_down(self) -> bool:
        """True where the source says that its images are stored upside down."""
        return not self.is_lerobot and stored_upside_down(self.path)

    @property
    def orientation(self) -> Orientation:
        """How images stand once they are turned."""
        if not self.is_upside_down:
            return "upright"
        if self.turn not in ORIENTATIONS:
            raise BadInput(
                f"{self.path} stores images upside down; {self.turn} leaves them so and mirrors "
                f"them; give one of {', '.join(ORIENTATIONS)}"
            )
        return ORIENTATIONS[self.turn]

    def _open_hdf5(self, instruction: str | None) -> OpenedDemos:
        return self._opened(state_keys=self.state_keys or None, instruction=instruction)

    def _opened(
        self, *, state_keys: tuple[str, ...] | None, instruction: str | None
    ) -> OpenedDemos:
        try:
            return open_demos(
                self.path,
                layout=self.layout,
                turn=self.turn,
                state_keys=state_keys,
                instruction=instruction,
            )
        except NoLayout as error:
            raise NoLayout(
                error.source,
                f"give --suite.layout, one of {', '.join(sorted(LAYOUTS))}, or --suite.motion and "
                "--suite.gripper with the numbers of the dimensions",
            ) from error


def is_there(path: Path) -> bool:
    """True while a source can be read."""
    return _is_lerobot(path) or path.is_file()


def files_in(path: Path) -> list[Path]:
    """The path itself, or the HDF5 files of a folder that is no LeRobot dataset, by name."""
    if path.is_dir() and not _is_lerobot(path):
        return sorted(one for one in path.iterdir() if one.suffix in HDF5_SUFFIXES) or [path]
    return [path]


def content_sha256(path: Path, cache: Path) -> str:
    """A hash of a source's content; large files are read once, until they change."""
    if _is_lerobot(path):
        return open_dataset(path).data_sha256(lambda one: remembered_sha256(one, cache))
    return remembered_sha256(path, cache)


def safe_name(text: str) -> str:
    """A task's name that can be part of a file's name."""
    return _UNSAFE.sub("-", text).strip("-.")[:MAX_NAME].rstrip("-.") or "task"


def _is_lerobot(path: Path) -> bool:
    return (path / "meta" / "info.json").exists()


def _numbered(what: str, count: int) -> tuple[str, ...]:
    return tuple(f"{what} {place}" for place in range(count))
