"""Finished tasks of a stream, on disk beside the memory: what a resumed command reads first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from phaser.core.errors import BrokenFile
from phaser.core.files import read_json, write_json
from phaser.demos.lerobot_statistics import to_json
from phaser.integrations.lerobot.sources import Source
from phaser.integrations.lerobot.statistics import OfFeatures, as_arrays
from phaser.memory.store_files import STREAM

FILE, IN_FORCE = "stream.json", "statistics.json"
VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Learnt:
    """One finished task."""

    name: str
    repo_id: str
    root: str | None
    episodes: tuple[int, ...] | None
    """Those that were asked for; None means all."""
    held_out: tuple[int, ...]
    instruction: str
    method: str
    output: str
    """LeRobot's output folder of the task."""
    num_steps: int
    statistics: str
    """The choice of statistics by which the policy's numbers are normalised."""
    env: Mapping[str, Any] | None = None
    """LeRobot's configuration of the environment in which it is rolled out."""

    @property
    def source(self) -> Source:
        return Source(name=self.name, repo_id=self.repo_id, root=self.root)


@dataclass(frozen=True, slots=True)
class Progress:
    """The files of one stream."""

    memory: Path

    @property
    def folder(self) -> Path:
        return self.memory / STREAM

    def learnt(self) -> tuple[Learnt, ...]:
        """Finished tasks, oldest first."""
        path = self.folder / FILE
        if not path.exists():
            return ()
        found = read_json(path)
        try:
            if found["version"] != VERSION:
                raise BrokenFile(
                    f"{path} is of version {found['version']!r}, expected {VERSION}; use the "
                    "release of phaser-vla that wrote it"
                )
            return tuple(_learnt(row) for row in found["tasks"])
        except (KeyError, TypeError) as error:
            raise BrokenFile(
                f"{path} does not hold a stream's tasks ({error}); restore it"
            ) from error

    def add(self, task: Learnt) -> None:
        """Record a finished task; from here on a resumed command leaves it alone."""
        tasks = [asdict(one) for one in (*self.learnt(), task)]
        write_json(self.folder / FILE, {"version": VERSION, "tasks": tasks})

    def write_statistics(self, name: str, own: OfFeatures, in_force: OfFeatures) -> None:
        """Keep a dataset's own statistics, and those that the policy is given now."""
        write_json(self.folder / f"statistics-{name}.json", to_json(own))
        write_json(self.folder / IN_FORCE, to_json(in_force))

    def statistics(self, names: Sequence[str]) -> list[OfFeatures]:
        """Each named dataset's own statistics."""
        return [
            as_arrays(_object(read_json(self.folder / f"statistics-{name}.json"))) for name in names
        ]


def _learnt(row: Mapping[str, Any]) -> Learnt:
    fields = dict(row)
    episodes = fields.pop("episodes")
    return Learnt(
        **{key: value for key, value in fields.items() if key != "held_out"},
        episodes=None if episodes is None else tuple(episodes),
        held_out=tuple(fields["held_out"]),
    )


def _object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise BrokenFile("a file of statistics holds no object; restore it")
    return found
