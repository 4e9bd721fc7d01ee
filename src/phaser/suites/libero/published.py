"""Demonstrations that LIBERO's authors published: their names, and where they are in the cache."""

from __future__ import annotations

from pathlib import Path

from phaser.core.errors import MissingDependency
from phaser.core.folders import cache_folder
from phaser.suites.libero.assets import FETCH, first_of
from phaser.suites.libero.tasks import SUITES, suite_named


def demonstrations_folder(suite: str) -> Path:
    """The folder with one HDF5 file per task of a suite, as `phaser libero fetch` leaves it."""
    suite = suite_named(suite)
    folder = fetched_demonstrations() / suite
    names = [demonstration_name(task) for task in SUITES[suite]]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise MissingDependency(
            f"the published demonstrations of {suite} lack {first_of(missing)} in {folder}; "
            f"run: {FETCH} --demonstrations --suites {suite}"
        )
    return folder


def fetched_demonstrations() -> Path:
    """The folder in the cache with one folder of demonstrations per suite."""
    return cache_folder() / "libero" / "demonstrations"


def demonstration_name(task: str) -> str:
    """The name of a task's file, in the cache as in every published folder."""
    return f"{task}_demo.hdf5"


def published_folder(suite: str) -> str:
    """The name of a suite's folder as LIBERO's authors write it."""
    return suite.replace("-", "_")
