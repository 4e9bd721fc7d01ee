"""Groups, arrays and texts of an HDF5 file, each checked before use; the only file that knows h5py.

An HDF5 file can point at other files (external links, external storage, virtual datasets), at
itself (soft links), declare shapes that no memory holds, and name filters that load foreign code.
Demonstrations need none of this, so all of it is refused.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType
from typing import Any

from phaser.core.errors import BrokenFile, MissingDependency
from phaser.core.files import parsed_json
from phaser.demos.open_files import OpenFiles

MAX_OPEN_FILES = 8
MAX_FRAMES = 1_000_000
MAX_FRAME_BYTES = 64 << 20
MAX_CHUNK_BYTES = 256 << 20
MAX_TEXT_BYTES = 16 << 20
BUILT_IN_FILTERS = frozenset({1, 2, 3, 4, 5, 6, 32000})
"""Deflate, shuffle, Fletcher-32, szip, n-bit, scale-offset, lzf: no plugin is loaded for these."""


class _File:
    """An open HDF5 file; errors of the library become one clear line."""

    def __init__(self, path: Path) -> None:
        try:
            self.root: Any = library().File(path, "r", locking="best-effort")
        except OSError as error:
            raise BrokenFile(f"{path} is not an HDF5 file, or damaged; restore it") from error

    def close(self) -> None:
        self.root.close()


OPEN: OpenFiles[_File] = OpenFiles(_File, limit=MAX_OPEN_FILES)


def library() -> ModuleType:
    try:
        import h5py
    except ImportError as error:
        raise MissingDependency(
            "HDF5 demonstrations need h5py; run: pip install 'phaser-vla[hdf5]'"
        ) from error
    module: ModuleType = h5py
    return module


def is_hdf5(path: Path) -> bool:
    return path.is_file() and bool(library().is_hdf5(path))


def find(parent: Any, relative: str, path: Path) -> Any:
    """A group or array below a group, along hard links only; nothing where there is none."""
    found = parent
    for name in relative.split("/"):
        if not isinstance(found, library().Group):
            return None
        link = found.get(name, getlink=True)
        if link is None:
            return None
        where = f"{path}: {found.name.rstrip('/')}/{name}"
        if not isinstance(link, library().HardLink):
            raise BrokenFile(
                f"{where} is a {type(link).__name__}, such files are refused; "
                "copy its content into one file (h5copy, h5repack)"
            )
        try:
            found = found[name]
        except (KeyError, OSError, RuntimeError) as error:
            raise BrokenFile(f"{where} cannot be opened ({error}); restore the file") from error
    return found


def group(parent: Any, relative: str, path: Path) -> Any:
    found = find(parent, relative, path)
    if not isinstance(found, library().Group):
        kind = "missing" if found is None else "not a group"
        raise BrokenFile(f"{path}: {relative!r} is {kind}; expected data/demo_N/actions and so on")
    return found


def array(parent: Any, relative: str, path: Path) -> Any:
    """An array with one row per frame whose storage, type and declared size are harmless."""
    found = find(parent, relative, path)
    where = f"{path}: {parent.name.rstrip('/')}/{relative}"
    if not isinstance(found, library().Dataset):
        raise BrokenFile(f"{where} is {'missing' if found is None else 'not an array'}")
    if found.is_virtual or found.external:
        raise BrokenFile(f"{where} keeps its values in other files, such files are refused")
    if found.dtype.kind not in "fiu":
        raise BrokenFile(f"{where} holds {found.dtype} values, expected numbers")
    _check_size(found, where)
    _check_filters(found, where)
    return found


def rows(stored: Any, selection: Any, path: Path) -> Any:
    """Values of an array; a damaged chunk becomes one clear line."""
    try:
        return stored[selection]
    except (OSError, RuntimeError) as error:
        raise BrokenFile(f"{path}: {stored.name} is damaged ({error}); restore it") from error


def text(owner: Any, name: str, path: Path) -> str | None:
    """An attribute that is a text; nothing where there is none."""
    if name not in owner.attrs:
        return None
    where = f"{path}: attribute {name!r} of {owner.name}"
    kind = owner.attrs.get_id(name)
    if kind.shape != () or kind.dtype.kind not in "OSU":
        raise BrokenFile(f"{where} is no text; restore the file")
    found = owner.attrs[name]
    if isinstance(found, bytes):
        found = found.decode(errors="replace")
    if not isinstance(found, str) or len(found) > MAX_TEXT_BYTES:
        raise BrokenFile(f"{where} is no text of at most {MAX_TEXT_BYTES} bytes")
    return str(found)


def json_text(owner: Any, name: str, path: Path) -> dict[str, Any]:
    """An attribute that holds a JSON object; an empty one where there is none."""
    content = text(owner, name, path)
    if content is None:
        return {}
    found = parsed_json(content, f"{path}: attribute {name!r} of {owner.name}")
    return found if isinstance(found, dict) else {}


def _check_size(found: Any, where: str) -> None:
    shape = found.shape
    if not shape or not 0 < shape[0] <= MAX_FRAMES:
        raise BrokenFile(f"{where} has shape {shape}, expected 1 to {MAX_FRAMES} frames")
    # Counted in whole numbers without limit: numpy's own product may overflow.
    frame_bytes = math.prod(shape[1:]) * found.dtype.itemsize
    if frame_bytes > MAX_FRAME_BYTES:
        raise BrokenFile(f"{where} declares {frame_bytes} bytes in each frame")
    chunk_bytes = math.prod(found.chunks or ()) * found.dtype.itemsize
    if chunk_bytes > MAX_CHUNK_BYTES:
        raise BrokenFile(f"{where} is stored in chunks of {chunk_bytes} bytes; use h5repack")
    if frame_bytes and not found.id.get_storage_size():
        raise BrokenFile(f"{where} declares shape {shape} but was never written; restore the file")


def _check_filters(found: Any, where: str) -> None:
    listed = found.id.get_create_plist()
    for number in range(listed.get_nfilters()):
        code = listed.get_filter(number)[0]
        if code not in BUILT_IN_FILTERS:
            raise BrokenFile(
                f"{where} is compressed by filter {code}, which needs a plugin; "
                "rewrite it with gzip (h5repack)"
            )
