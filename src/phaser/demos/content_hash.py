"""SHA-256 of large files, remembered by path, size and time of change."""

from __future__ import annotations

import hashlib
from pathlib import Path

from phaser.core.errors import BrokenFile
from phaser.core.files import read_json, require_file, sha256, write_json


def remembered_sha256(path: Path, cache: Path) -> str:
    """The hash of a file's content; it is read again only when its size or time changed.

    cache: the folder in which hashes are remembered, below `hashes`.
    """
    found = require_file(path)
    known = {"path": str(path), "size": found.st_size, "mtime_ns": found.st_mtime_ns}
    note = cache / "hashes" / f"{hashlib.sha256(str(path).encode()).hexdigest()}.json"
    try:
        noted = read_json(note)
    except BrokenFile:
        noted = None
    if isinstance(noted, dict) and known.items() <= noted.items():
        return str(noted.get("sha256"))
    content = sha256(path)
    write_json(note, known | {"sha256": content})
    return content
