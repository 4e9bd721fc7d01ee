"""Tasks that are recorded when they must be: of Meta-World and of LIBERO, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from phaser.core.files import require_writable
from phaser.core.suite import SPLITS
from phaser.demos.source_tasks import SourceTask
from phaser.suites.libero import tasks as libero
from phaser.suites.metaworld.tasks import INSTRUCTIONS, LISTS, task_names

if TYPE_CHECKING:
    from phaser.suites.libero.suite import Libero
    from phaser.suites.metaworld.suite import MetaWorld

LIBERO_NAMES = (
    *libero.SUITES,
    *libero.ALIASES,
    *(t for one in libero.SUITES.values() for t in one),
)
NAMES = (*LISTS, *INSTRUCTIONS, *LIBERO_NAMES)
"""All names of lists and tasks; a bare name is never a path."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """Tasks by the simulator that they are of."""

    metaworld: tuple[str, ...]
    libero: tuple[str, ...]


def named(sources: Sequence[str]) -> Named:
    """Lists become their tasks."""
    ours = [source for source in sources if source in NAMES]
    return Named(
        metaworld=tuple(n for one in ours if one not in LIBERO_NAMES for n in task_names(one)),
        libero=tuple(n for one in ours if one in LIBERO_NAMES for n in libero.task_names(one)),
    )


def simulated_tasks(names: Named) -> list[SourceTask]:
    """The tasks of the simulators; each is imported only if one of its tasks is named."""
    found: list[SourceTask] = []
    if names.metaworld:
        from phaser.suites.metaworld.suite import MetaWorld

        found += _tasks(MetaWorld(task_list=names.metaworld), "Meta-World")
    if names.libero:
        from phaser.suites.libero.suite import Libero

        found += _tasks(Libero(task_list=names.libero), "LIBERO")
    return found


def _tasks(suite: MetaWorld | Libero, source: str) -> list[SourceTask]:
    suite.require()
    require_writable(suite.cache)
    return [
        SourceTask(
            task=task,
            source=source,
            num_demos=suite.recording.num_train,
            read=partial(suite.demos, task, "train"),
            num_missing=sum(
                suite.recording.num_demos(split)
                for split in SPLITS
                if not suite.recorded(task, split).exists()
            ),
            prepare=partial(suite.ensure_recorded, task),
        )
        for task in suite.tasks()
    ]
