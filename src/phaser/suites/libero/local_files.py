"""LIBERO's files in a folder that a user has: a checkout, an assets folder, a folder of HDF5."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import open_file, sha256, write_atomically
from phaser.suites.libero.assets import SUBFOLDERS, folders_of, missing_files
from phaser.suites.libero.digests import BLOCK_BYTES
from phaser.suites.libero.downloads import Report
from phaser.suites.libero.published import demonstration_name, published_folder

ASSET_PLACES = (".", "assets", "libero/assets", "libero/libero/assets")
"""Assets are in one of these below a folder: itself, hf-libero's package, a LIBERO checkout."""
DEMONSTRATION_PLACES = (".", "datasets", "libero/datasets")
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
POINTER = b"version https://git-lfs"
"""A clone without Git LFS has a text that begins so in place of each large file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderOrigin:
    """A file in a user's folder; a link is taken for the file that it leads to."""

    path: Path

    def is_at(self, path: Path) -> bool:
        """True if a file on disk is already this one, by size and SHA-256."""
        return path.stat().st_size == self.path.stat().st_size and sha256(path) == sha256(self.path)

    def bring(self, target: Path, report: Report) -> None:
        """Copy the file to `target`; the copy is read again before it gets its name."""
        self._refuse_wrong_kind()
        write_atomically(target, lambda temporary: self._copy(temporary, report))

    def _copy(self, temporary: Path, report: Report) -> None:
        running = hashlib.sha256()
        with temporary.open("wb") as stream:
            for block in self._blocks():
                running.update(block)
                stream.write(block)
                report(len(block))
        if sha256(temporary) != running.hexdigest():
            raise BrokenFile(f"the copy of {self.path} differs from it; check the disk")

    def _blocks(self) -> Iterator[bytes]:
        """Read errors are the source's, not those of the disk that is written to."""
        try:
            with open_file(self.path) as stream:
                while block := stream.read(BLOCK_BYTES):
                    yield block
        except OSError as error:
            raise BadInput(f"cannot read {self.path}: {error.strerror}") from error

    def _refuse_wrong_kind(self) -> None:
        begin = next(self._blocks(), b"")
        if begin.startswith(POINTER):
            raise BrokenFile(f"{self.path} only stands for a large file; run there: git lfs pull")
        if self.path.suffix == ".hdf5" and not begin.startswith(HDF5_SIGNATURE):
            raise BrokenFile(f"{self.path} is no HDF5 file; fetch it anew where it is from")


def holds_assets(folder: Path) -> bool:
    """True if a folder has assets of any suite, complete or not."""
    places = (*SUBFOLDERS.values(), *ASSET_PLACES)
    return any((folder / place / "scenes").is_dir() for place in places)


def assets_in(folder: Path, suite: str) -> tuple[Path, tuple[str, ...]]:
    """The place below a folder that holds most of a suite's assets, and the files missing there."""
    places = [folder / place for place in (SUBFOLDERS.get(suite, "."), *ASSET_PLACES)]
    lacking = {place: missing_files(place, suite) for place in places if place.is_dir()}
    best = min(lacking, key=lambda place: len(lacking[place]))
    return best, lacking[best]


def asset_files(place: Path, suite: str) -> dict[str, Path]:
    """Files of the folders that a suite needs, by their path below the assets."""
    found: dict[str, Path] = {}
    for folder in folders_of(suite):
        for parent, _, names in os.walk(place / folder):
            for name in sorted(names):
                path = Path(parent, name)
                if path.is_file():
                    found[path.relative_to(place).as_posix()] = path
    return found


def demonstration_files(folder: Path, suite: str, tasks: tuple[str, ...]) -> dict[str, Path]:
    """Files of a suite's tasks, by task; a task without a file is not in it.

    folder: has the files, or a folder of them by the suite's name, or a checkout's `datasets`.
    suite: our name of the suite; published folders have an underscore in place of its dash.
    tasks: names of the tasks to look for.
    """
    places = [
        folder / place / part
        for place in DEMONSTRATION_PLACES
        for part in (published_folder(suite), suite, ".")
    ]
    found = {}
    for task in tasks:
        paths = (place / demonstration_name(task) for place in places)
        if path := next((path for path in paths if path.is_file()), None):
            found[task] = path
    return found
