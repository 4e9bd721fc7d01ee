"""Open any source of demonstrations: an HDF5 file, a folder of them, or a LeRobot dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, overload

from phaser.core.demonstration import ActionLayout, Demo, Task
from phaser.core.errors import BadInput
from phaser.demos.hdf5 import Hdf5File, open_hdf5
from phaser.demos.hdf5_guard import is_hdf5
from phaser.demos.layouts import NamedLayout, NoLayout, check_layout, layout_named
from phaser.demos.lerobot import Dataset, open_dataset
from phaser.demos.turned import AS_STORED, TurnedImages, check_turn

HDF5_SUFFIXES = (".hdf5", ".h5")

# With its items' type known at run time, a type checker in tests would read one to look at it.
if TYPE_CHECKING:
    _Demos = Sequence[Demo]
else:
    _Demos = Sequence


@dataclass(frozen=True, kw_only=True, slots=True)
class LazyDemos(_Demos):
    """Demonstrations that are read when they are taken, so that any number fits in memory."""

    readers: tuple[Callable[[], Demo], ...]

    def __len__(self) -> int:
        return len(self.readers)

    @overload
    def __getitem__(self, position: int) -> Demo: ...

    @overload
    def __getitem__(self, position: slice) -> LazyDemos: ...

    def __getitem__(self, position: int | slice) -> Demo | LazyDemos:
        if isinstance(position, slice):
            return LazyDemos(readers=self.readers[position])
        return self.readers[position]()

    def __iter__(self) -> Iterator[Demo]:
        return (read() for read in self.readers)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedDemos:
    """A source of demonstrations: its tasks in the order they appear, and remarks for the user."""

    source: Path
    kind: str
    tasks: tuple[Task, ...]
    all_demos: LazyDemos
    task_of_demo: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def demos(self, task: Task) -> LazyDemos:
        """The demonstrations of one task, in the order of the source."""
        chosen = zip(self.all_demos.readers, self.task_of_demo, strict=True)
        return LazyDemos(readers=tuple(read for read, name in chosen if name == task.name))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    """One demonstration of a source: whose it is, its number, how it is read."""

    task: Task
    index: int
    read: Callable[[ActionLayout], Demo]


def open_demos(
    source: Path,
    *,
    layout: ActionLayout | str | None = None,
    turn: str = AS_STORED,
    state_keys: Sequence[str] | None = None,
    instruction: str | None = None,
) -> OpenedDemos:
    """Recognise a source and list its demonstrations; none is read yet.

    `layout` says what the action's dimensions do: a value, or the name of a convention in
    `LAYOUTS`. It may be left out only where the dataset has our sidecar. `turn` sets images
    upright (`TURNS`). `state_keys` and `instruction` are for HDF5: which arrays stand for the
    state, and the words of a recording that has none.
    """
    check_turn(turn)
    named = layout_named(layout) if isinstance(layout, str) else None
    given = layout if isinstance(layout, ActionLayout) else None
    if named:
        given = named.layout
    remarks: tuple[str, ...] = ()
    if (source / "meta" / "info.json").exists():
        if state_keys or instruction:
            raise BadInput(f"{source} is a LeRobot dataset: it names its own state and instruction")
        dataset = open_dataset(source)
        kind = f"LeRobot {dataset.info.version}"
        entries = _lerobot_entries(dataset)
        given = dataset.layout_or(given)
    else:
        files = [
            open_hdf5(path, state_keys=state_keys, instruction=instruction)
            for path in _hdf5_paths(source)
        ]
        kind, remarks = "HDF5", _remarks(files, turn)
        entries = [entry for file in files for entry in _hdf5_entries(file)]
    if given is None:
        raise NoLayout(source)
    return _opened(source, kind, entries, _Reading(given, named, turn, source), remarks)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How every demonstration of a source is read and checked."""

    layout: ActionLayout
    named: NamedLayout | None
    turn: str
    source: Path

    def __call__(self, entry: _Entry) -> Demo:
        demo = entry.read(self.layout)
        size = demo.actions.shape[1]
        if self.named and self.named.size != size:
            raise BadInput(
                f"{self.source}: demonstration {entry.index} of {entry.task.name!r} has actions "
                f"of {size} numbers, the layout expects {self.named.size}; give another layout"
            )
        check_layout(self.layout, num_dimensions=size, source=self.source)
        if self.turn == AS_STORED:
            return demo
        turned = {k: TurnedImages(images=v, turn=self.turn) for k, v in demo.cameras.items()}
        return replace(demo, cameras=turned)


def _opened(
    source: Path, kind: str, entries: list[_Entry], reading: _Reading, remarks: tuple[str, ...]
) -> OpenedDemos:
    tasks: dict[str, Task] = {}
    seen: set[tuple[str, int]] = set()
    for entry in entries:
        known = tasks.setdefault(entry.task.name, entry.task)
        if known != entry.task or (entry.task.name, entry.index) in seen:
            raise BadInput(
                f"{source} holds demonstration {entry.index} of {entry.task.name!r} twice, or "
                "with two instructions; open its files one by one"
            )
        seen.add((entry.task.name, entry.index))
    return OpenedDemos(
        source=source,
        kind=kind,
        tasks=tuple(tasks.values()),
        all_demos=LazyDemos(readers=tuple(partial(reading, entry) for entry in entries)),
        task_of_demo=tuple(entry.task.name for entry in entries),
        remarks=remarks,
    )


def _lerobot_entries(dataset: Dataset) -> list[_Entry]:
    return [
        _Entry(
            task=Task(name=dataset.task_name(rows), instruction=rows.instruction),
            index=rows.index,
            read=partial(dataset.demo, rows),
        )
        for rows in dataset.episodes
    ]


def _hdf5_entries(file: Hdf5File) -> list[_Entry]:
    return [
        _Entry(
            task=episode.task,
            index=episode.index,
            read=partial(file.demo, episode),
        )
        for episode in file.episodes
    ]


def _hdf5_paths(source: Path) -> list[Path]:
    if source.is_dir():
        paths = sorted(path for path in source.iterdir() if path.suffix in HDF5_SUFFIXES)
        if paths:
            return paths
    elif source.is_file() and is_hdf5(source):
        return [source]
    found = "does not exist" if not source.exists() else "is none of these"
    raise BadInput(
        f"{source} {found}; expected an HDF5 file, a folder of .hdf5 or .h5 files, or a LeRobot "
        "dataset (a folder with meta/info.json)"
    )


def _remarks(files: Sequence[Hdf5File], turn: str) -> tuple[str, ...]:
    remarks = [f"state: {', '.join(keys)}" for keys in dict.fromkeys(f.state_keys for f in files)]
    if turn == AS_STORED and any(file.image_convention == "opengl" for file in files):
        remarks.append("images are stored upside down (OpenGL); flip-vertical sets them upright")
    return tuple(remarks)
