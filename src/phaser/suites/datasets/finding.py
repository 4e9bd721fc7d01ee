"""Look through all sources once, when a run is made: tasks, shapes and statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from phaser.core.contract import Orientation, Statistics
from phaser.core.demonstration import Demo, Task
from phaser.core.errors import BadInput
from phaser.demos.held_out import evenly_held_out
from phaser.demos.opening import LazyDemos
from phaser.demos.turned import AS_STORED
from phaser.demos.vector_statistics import statistics_of
from phaser.suites.datasets.found import FoundSources, FoundTask
from phaser.suites.datasets.source import Source, files_in, safe_name

if TYPE_CHECKING:
    from phaser.suites.datasets.suite import Datasets


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Opened:
    """One task of an opened source."""

    found: FoundTask
    source: Source
    demos: LazyDemos
    first: Demo


def find_sources(asked: Datasets) -> FoundSources:
    """Open every source, read states and actions of all demonstrations, and check that they fit.

    Of the images, one frame per task and camera is read.
    """
    opened = list(_opened_tasks(asked))
    first = opened[0]
    cameras = _cameras(asked, opened)
    for one in opened:
        _require_same_shape(one, first)
    state, action = first.source.column_names(first.first)
    found = FoundSources(
        asked_sha256=asked.asked_sha256,
        tasks=tuple(one.found for one in opened),
        cameras=cameras,
        image_size=asked.image_size or _common_size(opened, cameras),
        orientation=_orientation(asked, opened),
        layout=first.first.layout,
        state=state,
        action=action,
        state_statistics=_NOTHING,
        action_statistics=_NOTHING,
    )
    states, actions = [], []
    for demo in _training_demos(asked, opened, found):
        states.append(demo.states)
        actions.append(demo.actions)
    return replace(
        found, state_statistics=statistics_of(states), action_statistics=statistics_of(actions)
    )


_NOTHING = Statistics(mean=(), std=(), min=(), max=(), q01=(), q99=())


def _opened_tasks(asked: Datasets) -> Iterator[_Opened]:
    """The tasks of all sources, each under a name of its own."""
    taken: set[str] = set()
    for source in _sources(asked):
        opened = source.open()
        if source.instruction and len(opened.tasks) > 1:
            raise BadInput(
                f"{source.path} holds {len(opened.tasks)} instructions "
                f"({_listed(opened.tasks)}), but one was given for it: {source.instruction!r}; "
                "give it '' instead, and each is a task"
            )
        after_action = source.shows_after_action(asked.observed)
        for task in opened.tasks:
            demos = opened.demos(task)
            name = _unique(safe_name(task.name), taken)
            if len(demos) < 2:
                raise BadInput(
                    f"{source.path} holds 1 demonstration of {task.instruction!r}; expected at "
                    "least 2: one to learn from, one to measure with"
                )
            yield _Opened(
                found=FoundTask(
                    name=name,
                    instruction=source.instruction or task.instruction,
                    source=source.path,
                    name_in_source=task.name,
                    turn=source.turn,
                    after_action=after_action,
                    num_demos=len(demos),
                ),
                source=source,
                demos=demos,
                first=demos[0],
            )


def _sources(asked: Datasets) -> list[Source]:
    """One per file or dataset; a folder of files stands for them all."""
    paths = asked.sources
    if len(set(paths)) != len(paths):
        raise BadInput(f"a source is named twice among {', '.join(map(str, paths))}; name it once")
    for path in paths:
        if not path.exists():
            raise BadInput(f"{path} does not exist; expected an HDF5 file or a LeRobot folder")
    instructions = _one_each(asked.instructions, paths, what="instructions") or ("",) * len(paths)
    turns = asked.turns * len(paths) if len(asked.turns) == 1 else asked.turns
    turns = _one_each(turns, paths, what="turns") or (AS_STORED,) * len(paths)
    found = []
    for path, words, turn in zip(paths, instructions, turns, strict=True):
        files = files_in(path)
        if words and len(files) > 1:
            raise BadInput(
                f"{path} holds {len(files)} files, but one instruction was given for it: "
                f"{words!r}; name its files one by one, or give it ''"
            )
        found += [
            Source(
                path=file,
                layout=asked.given_layout,
                turn=turn,
                state_keys=asked.state_keys,
                instruction=words.strip(),
            )
            for file in files
        ]
    return found


def _one_each(given: tuple[str, ...], paths: Sequence[Path], *, what: str) -> tuple[str, ...]:
    if given and len(given) != len(paths):
        raise BadInput(f"{len(given)} {what} for {len(paths)} sources; give one per source")
    return given


def _cameras(asked: Datasets, opened: Sequence[_Opened]) -> tuple[str, ...]:
    """The cameras asked for, else all that every source has, in the first one's order."""
    shared = [
        name for name in opened[0].first.cameras if all(name in one.first.cameras for one in opened)
    ]
    has = {one.found.source: ", ".join(one.first.cameras) or "no images" for one in opened}
    for one in opened:
        missing = [name for name in asked.cameras if name not in one.first.cameras]
        if missing:
            source = one.found.source
            raise BadInput(f"{source} has no camera {missing[0]!r}; it has {has[source]}")
    if not (asked.cameras or shared) and len(set(has.values())) > 1:
        found = "; ".join(f"{source} has {names}" for source, names in has.items())
        raise BadInput(
            f"the sources have no camera in common: {found}; rename cameras, or learn them apart"
        )
    return asked.cameras or tuple(shared)


def _common_size(opened: Sequence[_Opened], cameras: Sequence[str]) -> tuple[int, int]:
    """Height and width of all images, of which one per task and camera is looked at."""
    sizes: dict[tuple[int, int], str] = {}
    for one in opened:
        for camera in cameras:
            height, width = one.first.cameras[camera].read([0]).shape[1:3]
            sizes.setdefault((int(height), int(width)), f"{camera} of {one.found.source}")
    if len(sizes) > 1:
        found = ", ".join(f"{h} x {w} ({where})" for (h, w), where in sizes.items())
        raise BadInput(
            f"images of different sizes: {found}; give one size to which all are resized, such as "
            "--suite.image-size 96 96"
        )
    return next(iter(sizes), (0, 0))


def _orientation(asked: Datasets, opened: Sequence[_Opened]) -> Orientation:
    """How images stand; sources that disagree are refused, unless the user said how to turn."""
    stand = {one.source.orientation: one.found.source for one in opened}
    if len(stand) > 1 and not asked.turns:
        raise BadInput(
            f"{stand['opengl']} stores images upside down (OpenGL), {stand['upright']} does not "
            "say so; give --suite.turns, one per source, such as flip-vertical as-stored"
        )
    return opened[0].source.orientation


def _require_same_shape(one: _Opened, first: _Opened) -> None:
    for what, ours, theirs in (
        ("actions", one.first.actions.shape[1], first.first.actions.shape[1]),
        ("states", one.first.states.shape[1], first.first.states.shape[1]),
    ):
        if ours != theirs:
            raise BadInput(
                f"{one.found.source} has {what} of {ours} numbers, {first.found.source} of "
                f"{theirs}; one policy needs one size: learn them apart"
            )
    if one.first.layout != first.first.layout:
        raise BadInput(
            f"{one.found.source} has the action layout {one.first.layout}, {first.found.source} "
            f"{first.first.layout}; give one for all with --suite.layout"
        )


def _training_demos(
    asked: Datasets, opened: Sequence[_Opened], found: FoundSources
) -> Iterator[Demo]:
    """The demonstrations that are learnt from; held-out ones are checked alike and left out."""
    for one in opened:
        held = evenly_held_out(len(one.demos), asked.heldout_share)
        for place, demo in enumerate(one.demos):
            _require_same_shape(replace(one, first=demo), opened[0])
            as_seen = asked.read(demo, one.found, found)
            if place not in held:
                yield as_seen


def _unique(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where an earlier task has it already."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found)
    return found


def _listed(tasks: Sequence[Task], most: int = 3) -> str:
    names = [repr(task.instruction) for task in tasks[:most]]
    return ", ".join([*names, "…"] if len(tasks) > most else names)
