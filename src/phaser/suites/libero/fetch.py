"""Bring LIBERO's assets and demonstrations into the cache: only files that are missing there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from phaser.core.errors import BadInput, BrokenFile, CannotWrite
from phaser.core.files import writing
from phaser.core.folders import CACHE_VARIABLE
from phaser.core.locks import exclusive
from phaser.suites.libero.assets import first_of, missing_files
from phaser.suites.libero.downloads import Report

PARTIAL = ".partial"
"""The folder, beside what is whole, in which files grow."""


class Origin(Protocol):
    """A place that a file comes from."""

    def is_at(self, path: Path) -> bool:
        """True if a file on disk is already this one, by its size and content."""

    def bring(self, target: Path, report: Report) -> None:
        """Put the file to `target`, whole and checked, or raise and leave nothing there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One file that is wanted."""

    path: str
    """Its path below the folder of its batch, with slashes."""
    size: int
    origin: Origin


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Files of one kind, assets or demonstrations, from one source into one folder."""

    what: str
    source: str
    revision: str
    """The commit on a hub; empty for a folder."""
    suites: tuple[str, ...]
    left_out: tuple[str, ...]
    """One line per suite that the source does not hold completely: the files it lacks."""
    folder: Path
    items: tuple[Item, ...]

    @property
    def num_bytes(self) -> int:
        return sum(item.size for item in self.items)


def same_size(batch: Batch) -> Iterator[tuple[Item, Path]]:
    """Files that are in their place with the right size; their content may still be another."""
    for item in batch.items:
        path = batch.folder / item.path
        if path.is_file() and path.stat().st_size == item.size:
            yield item, path


def absent(batch: Batch, report: Report) -> tuple[Item, ...]:
    """Files that are not in their place yet, or not with the right content; reads the others."""
    here = set()
    for item, path in same_size(batch):
        if item.origin.is_at(path):
            here.add(item.path)
        report(item.size)
    return tuple(item for item in batch.items if item.path not in here)


def bring(batch: Batch, items: Sequence[Item], report: Report) -> None:
    """Bring files of a batch into its folder, each whole or not at all.

    batch: says where they belong.
    items: those to bring, as `absent` finds them.
    report: is called with the number of bytes whenever some came.
    """
    with exclusive(batch.folder.parent / ".fetch.lock", what="the folder"):
        _remove_unfinished(batch.folder)
        for item in items:
            target = batch.folder / item.path
            _require_inside(batch.folder, target)
            item.origin.bring(target, report)
        with suppress(OSError):
            # Stays where it holds a file that another call has begun.
            (batch.folder / PARTIAL).rmdir()
    for suite in batch.suites if batch.what == "assets" else ():
        if missing := missing_files(batch.folder, suite):
            raise BrokenFile(
                f"{batch.source} has no {first_of(missing)}, which {suite} needs; "
                "name another revision or folder"
            )


def require_room(folder: Path, num_bytes: int) -> None:
    """Refuse what the disk cannot hold before the first byte comes."""
    place = next(parent for parent in (folder, *folder.resolve().parents) if parent.exists())
    free = shutil.disk_usage(place).free
    if num_bytes > free:
        raise CannotWrite(
            f"{folder} has {free / 1e9:.1f} GB free, {num_bytes / 1e9:.1f} GB are needed; "
            f"free space, choose fewer --suites, or set {CACHE_VARIABLE} to another folder"
        )


def _remove_unfinished(folder: Path) -> None:
    """Remove temporary files of calls that were killed; only one call works here at a time."""
    with writing(folder):
        for temporary in folder.rglob(".*.tmp"):
            temporary.unlink()


def _require_inside(folder: Path, target: Path) -> None:
    """Refuse a place that a link in the cache leads away from."""
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        raise BadInput(f"{target.parent} is a link that leads out of {folder}; remove it")
