"""Plan a fetch: the files that a user asks for, and their sizes, on a hub or in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from phaser.core.errors import BadInput, BrokenFile
from phaser.suites.libero.assets import fetched_assets, first_of, folders_of
from phaser.suites.libero.downloads import HubOrigin
from phaser.suites.libero.fetch import PARTIAL, Batch, Item
from phaser.suites.libero.hub import listing
from phaser.suites.libero.listing import ASSETS, DEMONSTRATIONS, HubFile, Listing, Repository
from phaser.suites.libero.local_files import (
    FolderOrigin,
    asset_files,
    assets_in,
    demonstration_files,
    holds_assets,
)
from phaser.suites.libero.published import (
    demonstration_name,
    fetched_demonstrations,
    published_folder,
)
from phaser.suites.libero.tasks import SUITES, suite_named


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The choices of a user who calls `phaser libero fetch`."""

    suites: tuple[str, ...] = ()
    """None means all of a hub, and of a folder those that it holds completely."""
    assets: bool = True
    demonstrations: bool = False
    folder: Path | None = None
    """A folder of the user's own in place of the hub."""
    assets_revision: str = ASSETS.revision
    demonstrations_revision: str = DEMONSTRATIONS.revision


def planned(request: Request) -> tuple[Batch, ...]:
    """All files that a request means, with their sizes; nothing is written."""
    if not request.assets and not request.demonstrations:
        raise BadInput("neither assets nor demonstrations are asked for; add --demonstrations")
    suites = tuple(dict.fromkeys(map(suite_named, request.suites)))
    if request.folder is not None:
        return tuple(_from_folder(request.folder.expanduser(), suites, request))
    return tuple(_from_hub(suites or tuple(SUITES), request))


def _from_hub(suites: tuple[str, ...], request: Request) -> Iterator[Batch]:
    if request.assets:
        repository = replace(ASSETS, revision=request.assets_revision)
        found = listing(repository)
        needed = dict.fromkeys(folder for suite in suites for folder in folders_of(suite))
        for folder in needed:
            if not found.below([folder]):
                raise BrokenFile(_lacks(repository, found, folder))
        files = {file.path: file for file in found.below(tuple(needed))}
        yield _hub_batch("assets", repository, found, suites=suites, files=files)
    if request.demonstrations:
        repository = replace(DEMONSTRATIONS, revision=request.demonstrations_revision)
        found = listing(repository)
        files = {}
        for suite in suites:
            for name in map(demonstration_name, SUITES[suite]):
                path = f"{published_folder(suite)}/{name}"
                if (file := found.at(path)) is None:
                    raise BrokenFile(_lacks(repository, found, path))
                files[f"{suite}/{name}"] = file
        yield _hub_batch("demonstrations", repository, found, suites=suites, files=files)


def _lacks(repository: Repository, found: Listing, path: str) -> str:
    return f"{repository.name} at {found.commit[:12]} has no {path}; name another revision"


def _hub_batch(
    what: str,
    repository: Repository,
    found: Listing,
    *,
    suites: tuple[str, ...],
    files: Mapping[str, HubFile],
) -> Batch:
    folder = _folder(what)
    return Batch(
        what=what,
        source=repository.name,
        revision=found.commit,
        suites=suites,
        left_out=(),
        folder=folder,
        items=tuple(
            Item(
                path=path,
                size=file.size,
                origin=HubOrigin(
                    file=file,
                    repository=repository,
                    commit=found.commit,
                    partial=folder / PARTIAL,
                ),
            )
            for path, file in files.items()
        ),
    )


def _from_folder(folder: Path, suites: tuple[str, ...], request: Request) -> Iterator[Batch]:
    if not folder.is_dir():
        raise BadInput(f"--from {folder} is no folder; name one that holds LIBERO's files")
    # A folder with nothing but demonstrations is one that has no assets, not one that lacks some.
    if request.assets and (not request.demonstrations or holds_assets(folder)):
        yield _folder_batch("assets", folder, suites)
    if request.demonstrations:
        yield _folder_batch("demonstrations", folder, suites)


def _folder_batch(what: str, folder: Path, suites: tuple[str, ...]) -> Batch:
    """Suites that the user names must be complete; without names, those that are."""
    files: dict[str, Path] = {}
    whole, left_out = [], []
    for suite in suites or SUITES:
        found, missing = (_assets if what == "assets" else _demonstrations)(folder, suite)
        if missing:
            line = f"{what} of {suite} lack {first_of(missing)}"
            if suites:
                raise BadInput(f"{folder} is not complete: {line}")
            left_out.append(line)
        else:
            whole.append(suite)
            files = {**found, **files}
    if not whole:
        raise BadInput(f"{folder} holds no suite completely: {left_out[0]}")
    return Batch(
        what=what,
        source=str(folder),
        revision="",
        suites=tuple(whole),
        left_out=tuple(left_out),
        folder=_folder(what),
        items=tuple(
            Item(path=path, size=source.stat().st_size, origin=FolderOrigin(path=source))
            for path, source in files.items()
        ),
    )


def _folder(what: str) -> Path:
    return fetched_assets() if what == "assets" else fetched_demonstrations()


def _assets(folder: Path, suite: str) -> tuple[dict[str, Path], tuple[str, ...]]:
    place, missing = assets_in(folder, suite)
    return asset_files(place, suite), missing


def _demonstrations(folder: Path, suite: str) -> tuple[dict[str, Path], tuple[str, ...]]:
    found = demonstration_files(folder, suite, SUITES[suite])
    missing = tuple(demonstration_name(task) for task in SUITES[suite] if task not in found)
    return {f"{suite}/{demonstration_name(task)}": path for task, path in found.items()}, missing
