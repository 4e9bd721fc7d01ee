"""Digests that a hub declares for its files: SHA-256 of large ones, git's SHA-1 of small ones."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from phaser.core.errors import BadInput
from phaser.core.files import open_file

BLOCK_BYTES = 1 << 20
_FORMS = {"SHA-256": re.compile(r"[0-9a-f]{64}"), "git SHA-1": re.compile(r"[0-9a-f]{40}")}


@dataclass(frozen=True, kw_only=True, slots=True)
class Digest:
    """The value that a file's content must hash to."""

    kind: str
    """`SHA-256`, or `git SHA-1`: git hashes the word blob and the size before the content."""
    value: str

    def __post_init__(self) -> None:
        if self.kind not in _FORMS or not _FORMS[self.kind].fullmatch(self.value):
            raise BadInput(f"{self.value[:80]!r} is no {self.kind} in lower-case digits")

    def of(self, path: Path) -> str:
        """The digest, of the same kind, of a file as it is on disk."""
        if self.kind == "SHA-256":
            running = hashlib.sha256()
        else:
            running = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        with open_file(path) as stream:
            while block := stream.read(BLOCK_BYTES):
                running.update(block)
        return running.hexdigest()

    def fits(self, path: Path) -> bool:
        """True if a file on disk has this digest."""
        return self.of(path) == self.value
