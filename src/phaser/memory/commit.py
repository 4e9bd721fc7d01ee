"""The commit of a memory: new files first, then the manifest that names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from phaser.memory.index_segments import INDEX, Segment, is_full, read_segments, seal
from phaser.memory.manifest import (
    VERSION,
    Manifest,
    Removal,
    StoredState,
    read_manifest,
    write_manifest,
)
from phaser.memory.store_files import TASKS
from phaser.memory.stored_task import StoredTask

Changes = Mapping[str, StoredTask | None]
"""By name what a task becomes; None: it goes."""


def committed(
    manifest: Manifest,
    *,
    new: StoredTask | None = None,
    changed: Changes | None = None,
    removed: Sequence[Removal] = (),
    state: StoredState | None = None,
) -> Manifest:
    """Write the manifest with a task more, or with changed ones; returns what was written.

    new: the entry of a shard that was written just now.
    removed: files that the memory does not hold any more; they go after the commit.
    state: what the method's rules leave now; the one before it goes.
    """
    # What gave way earlier, but had to stay for whoever rehearses from it, is still to be removed.
    pending = [one for one in manifest.removed if (manifest.folder / one.file).exists()]
    gone = [*removed, *pending]
    if state is not None and manifest.state not in (None, state):
        assert manifest.state is not None
        gone.append(Removal(file=manifest.state.file, erase=False))
    segments, tail = manifest.segments, manifest.tail
    if changed:
        segments, old = _changed_segments(manifest, changed)
        erased = any(one.erase for one in removed)
        gone += [Removal(file=f"{INDEX}/{one.file}", erase=erased) for one in old]
        tail = _changed(tail, changed)
    if manifest.version != VERSION:
        gone.append(Removal(file="budget.json", erase=False))
    now = replace(
        manifest,
        segments=segments,
        tail=tail,
        removed=_once(gone, but=state or manifest.state),
        state=state or manifest.state,
        version=VERSION,
        _loaded=[],
    )
    if new is not None:
        now = now.with_task(new)
    if is_full(now.tail):
        sealed = seal(now.folder, now.tail)
        now = replace(now, segments=(*now.segments, sealed), tail=(), _loaded=[])
    write_manifest(now)
    return now


@contextmanager
def taken_back(folder: Path, written: Sequence[StoredTask]) -> Iterator[None]:
    """Remove the shards of this write again where it fails before the commit: a full disk."""
    try:
        yield
    except BaseException:
        named = {task.shard for task in read_manifest(folder).tasks}
        for task in written:
            if task.shard not in named:
                (folder / TASKS / task.shard).unlink(missing_ok=True)
        raise


def _once(removed: Sequence[Removal], *, but: StoredState | None) -> tuple[Removal, ...]:
    """Every file once, erased if any of its removals says so; never the state of now."""
    erased = {one.file: False for one in removed if but is None or one.file != but.file}
    for one in removed:
        if one.file in erased:
            erased[one.file] |= one.erase
    return tuple(Removal(file=file, erase=erase) for file, erase in erased.items())


def _changed(tasks: Sequence[StoredTask], changed: Changes) -> tuple[StoredTask, ...]:
    found = (changed.get(task.name, task) for task in tasks)
    return tuple(task for task in found if task is not None)


def _changed_segments(
    manifest: Manifest, changed: Changes
) -> tuple[tuple[Segment, ...], list[Segment]]:
    """Segments without and with the changes; those that hold no changed task stay as they are."""
    now: list[Segment] = []
    old: list[Segment] = []
    read = read_segments(manifest.folder, manifest.segments)
    for segment, tasks in zip(manifest.segments, read, strict=True):
        if not any(task.name in changed for task in tasks):
            now.append(segment)
            continue
        old.append(segment)
        if rest := _changed(tasks, changed):
            now.append(seal(manifest.folder, rest))
    return tuple(now), old
