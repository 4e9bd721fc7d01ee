"""What can be cut into phases: simulated tasks by name, HDF5 files and folders, LeRobot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from phaser.core.demonstration import ActionLayout, Demo
from phaser.core.errors import BadInput, UnknownName
from phaser.demos.layouts import LAYOUTS, NoLayout
from phaser.demos.opening import OpenedDemos, open_demos
from phaser.demos.source_tasks import OpenedSources, SourceTask
from phaser.demos.turned import AS_STORED
from phaser.suites.libero.demonstrations import check_gripper
from phaser.suites.simulated_sources import NAMES, named, simulated_tasks


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadingFlags:
    """How files are to be read; recordings of our own need none of it."""

    layout: ActionLayout | str | None = None
    turn: str = AS_STORED
    state_keys: tuple[str, ...] = ()
    instruction: str | None = None
    gripper_closes: str | None = None

    def any_given(self) -> bool:
        return self != ReadingFlags()


def open_sources(sources: Sequence[str], flags: ReadingFlags) -> OpenedSources:
    """Names of simulated tasks or lists, and paths; a bare task's name is never a path."""
    paths = [source for source in sources if source not in NAMES]
    if flags.any_given() and not paths:
        raise BadInput(
            "our recordings know their layout, images and instructions; leave out --layout, "
            "--motion, --gripper, --gripper-closes, --turn, --state-keys and --instruction"
        )
    remarks = [
        f"{source!r} is the simulated task; write ./{source} for what has that name here"
        for source in sources
        if source in NAMES and Path(source).exists()
    ]
    tasks = simulated_tasks(named(sources))
    for source in paths:
        opened = _open_path(source, flags)
        tasks += _file_tasks(opened, flags)
        # Which arrays are the state is no matter here: phases come from actions and images.
        said = [remark for remark in opened.remarks if not remark.startswith("state:")]
        remarks += [f"{source}: {remark}" for remark in said]
    seen: dict[str, str] = {}
    for one in tasks:
        if one.task.name in seen:
            raise BadInput(
                f"task {one.task.name!r} comes from {seen[one.task.name]} and from {one.source}; "
                "segment them one by one"
            )
        seen[one.task.name] = one.source
    return OpenedSources(tasks=tuple(tasks), remarks=tuple(remarks))


def _open_path(source: str, flags: ReadingFlags) -> OpenedDemos:
    path = Path(source)
    if not path.exists() and path.name == source and not path.suffix:
        raise UnknownName("task, task list or path", source, NAMES)
    try:
        return open_demos(
            path,
            layout=flags.layout,
            turn=flags.turn,
            state_keys=flags.state_keys or None,
            instruction=flags.instruction,
        )
    except NoLayout as error:
        raise NoLayout(
            error.source,
            f"give --layout, one of {', '.join(sorted(LAYOUTS))}, or --motion and --gripper with "
            "the numbers of the dimensions, such as --motion 0-5 --gripper 6",
        ) from error
    except PermissionError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}; change its rights") from error


def _file_tasks(opened: OpenedDemos, flags: ReadingFlags) -> list[SourceTask]:
    return [
        SourceTask(
            task=task,
            source=str(opened.source),
            num_demos=len(demos),
            read=partial(_read, demos, flags),
        )
        for task in opened.tasks
        for demos in [opened.demos(task)]
    ]


def _read(demos: Iterable[Demo], flags: ReadingFlags) -> Iterable[Demo]:
    """As LIBERO's conventions ask, where they were named."""
    for demo in demos:
        if isinstance(flags.layout, str):
            check_gripper(demo, flags.layout)
        if flags.gripper_closes is not None:
            told = replace(demo.layout, gripper_closes=flags.gripper_closes)
            demo = replace(demo, layout=told)
        yield demo
