"""One file from a hub into its place: what is there goes on growing, and only what fits is kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from phaser.core.errors import BrokenFile
from phaser.core.files import write_atomically, writing
from phaser.suites.libero.hub import Interrupted, reading
from phaser.suites.libero.listing import HubFile, Repository

WAITS_S = (1.0, 2.0, 4.0, 8.0)
"""Seconds to wait before a file is asked for again; the count restarts whenever bytes came."""

Report = Callable[[int], None]
"""Called with the number of bytes that came; a negative number takes bytes back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HubOrigin:
    """A file on a hub, and the folder where it grows until it is whole."""

    file: HubFile
    repository: Repository
    commit: str
    partial: Path

    def is_at(self, path: Path) -> bool:
        """True if a file on disk is already this one, by size and digest."""
        return path.stat().st_size == self.file.size and self.file.digest.fits(path)

    def bring(self, target: Path, report: Report) -> None:
        """Put the file to `target`, whole and with the declared digest, or raise."""
        part = self.partial / f"{self.file.digest.value}.part"
        begun = self._begin(part, report)
        self._complete(part, report)
        found = self.file.digest.of(part)
        if begun and found != self.file.digest.value:
            # What an earlier call left may be damaged: once more from the start.
            part.unlink()
            report(-self.file.size)
            self._complete(part, report)
            found = self.file.digest.of(part)
        if found != self.file.digest.value:
            part.unlink()
            raise BrokenFile(
                f"{self.repository.name} sent {self.file.path} with {self.file.digest.kind} "
                f"{found[:16]}…, declared is {self.file.digest.value[:16]}…; it was not kept: "
                "run the same command again"
            )
        write_atomically(target, lambda temporary: os.replace(part, temporary))

    def _begin(self, part: Path, report: Report) -> int:
        """Count the bytes that an earlier call left."""
        with writing(part):
            part.parent.mkdir(parents=True, exist_ok=True)
            size = part.stat().st_size if part.exists() else 0
            if size > self.file.size:
                part.unlink()
                size = 0
        report(size)
        return size

    def _complete(self, part: Path, report: Report) -> None:
        """Ask for what lacks until the declared size is there; a broken connection is taken up."""
        with writing(part):
            part.touch()
        waits = iter(WAITS_S)
        while (before := part.stat().st_size) < self.file.size:
            try:
                self._grow(part, report)
            except Interrupted:
                if part.stat().st_size > before:
                    waits = iter(WAITS_S)
                wait_s = next(waits, None)
                if wait_s is None:
                    raise
                time.sleep(wait_s)

    def _grow(self, part: Path, report: Report) -> None:
        """Append what one request brings."""
        size = part.stat().st_size
        where = {"commit": self.commit, "path": self.file.path}
        with reading(self.repository, **where, start=size) as answer, writing(part):
            if answer.start not in (0, size):
                raise Interrupted(f"{self.repository.name} sends another part than was asked for")
            report(answer.start - size)
            size = answer.start
            with part.open("r+b") as stream:
                stream.truncate(size)
                stream.seek(size)
                for block in answer.blocks:
                    size += len(block)
                    if size > self.file.size:
                        part.unlink()
                        raise BrokenFile(
                            f"{self.repository.name} sends more of {self.file.path} than the "
                            f"{self.file.size} bytes that it declared; it was not kept"
                        )
                    stream.write(block)
                    report(len(block))
        if size < self.file.size:
            raise Interrupted(
                f"{self.repository.name} ended {self.file.path} after {size} of {self.file.size} "
                "bytes; run the same command later"
            )
