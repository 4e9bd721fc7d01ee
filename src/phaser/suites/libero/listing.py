"""The files of a repository on a hub: their paths, sizes and digests, checked before use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from phaser.core.errors import BadInput
from phaser.suites.libero.digests import Digest

MAX_FILES, MAX_FILE_BYTES, MAX_PATH_LENGTH = 100_000, 1 << 40, 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    """A repository of data on a hub, at a revision: a commit, or a branch that may move."""

    name: str
    revision: str


# The repositories that hf-libero 0.1.4 names, at the commits that their main branches had in 2026.
ASSETS = Repository(
    name="lerobot/libero-assets", revision="0b3ea86be5fe169d0fd036ae63d1070ec09e90f6"
)
DEMONSTRATIONS = Repository(
    name="yifengzhu-hf/LIBERO-datasets", revision="f13aa24a3da8c43c7225569f28c562979fa0e35a"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class HubFile:
    """One file of a repository, as the hub declares it."""

    path: str
    size: int
    digest: Digest

    def __post_init__(self) -> None:
        check_path(self.path)
        if not isinstance(self.size, int) or not 0 <= self.size <= MAX_FILE_BYTES:
            raise BadInput(f"{self.path} has a size of {self.size!r}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """All files of a repository at one commit."""

    commit: str
    files: tuple[HubFile, ...]

    def below(self, folders: Sequence[str]) -> tuple[HubFile, ...]:
        """Files in any of some folders, whose names end with a slash."""
        return tuple(file for file in self.files if file.path.startswith(tuple(folders)))

    def at(self, path: str) -> HubFile | None:
        """The file with a path, or none."""
        return next((file for file in self.files if file.path == path), None)


def checked_listing(commit: str, files: Sequence[HubFile]) -> Listing:
    """A listing in which no path occurs twice and no file is another one's folder.

    commit: the commit that the hub found behind the revision.
    files: all files that the hub declares, each already checked by itself.
    """
    paths = {file.path for file in files}
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    if len(paths) < len(files) or paths & folders or len(files) > MAX_FILES:
        raise BadInput(f"{len(files)} files, of which one is another, or another one's folder")
    return Listing(commit=commit, files=tuple(files))


def check_path(path: str) -> None:
    """Refuse a path that could lead out of the folder it is put below."""
    parts = path.split("/")
    if (
        not path.isprintable()
        or len(path) > MAX_PATH_LENGTH
        or "\\" in path
        or any(part in ("", ".", "..") for part in parts)
    ):
        raise BadInput(f"the path {path[:80]!r} leads out of its folder, or is none")
