"""Standard output and error that never end the program: plain letters, and lost readers ignored.

Whoever reads our output may leave (a closed pipe, a closed terminal) or have no room (a full
device); the work goes on, and `lost` says at the end what could not be written.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import Any, TextIO

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("·•", "-"),
        **dict.fromkeys("–—−━─", "-"),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("\u2018\u2019", "'"),
        "…": "...",
        "×": "x",
        "±": "+-",
        "σ": "sd",
        "→": "->",
        "≤": "<=",
        "≥": ">=",
    }
)
"""Plain letters that stand in for signs which a terminal cannot show."""
_PLAIN_ERRORS = "phaser-plain"


class _Output(io.FileIO):
    """A file that takes everything: what cannot be written is left out, and the reason kept."""

    lost: OSError | None = None

    def write(self, content: Any) -> int:
        size = memoryview(content).nbytes
        if self.lost is None:
            try:
                return super().write(content) or 0
            except BlockingIOError:
                raise
            except OSError as error:
                self.lost = error
        return size


def use_forgiving_streams() -> None:
    """Put such streams in the place of the program's own."""
    codecs.register_error(_PLAIN_ERRORS, _plain)
    sys.stdout, sys.stderr = _forgiving(sys.stdout), _forgiving(sys.stderr)


def full_device() -> str:
    """Why standard output was not written to its end, where its reader did not just leave."""
    try:
        sys.stdout.flush()
    except ValueError:  # closed by the verb itself
        return ""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    lost = raw.lost if isinstance(raw, _Output) else None
    gone = (errno.EPIPE, errno.EIO, errno.EBADF, errno.ECONNRESET)
    return "" if lost is None or lost.errno in gone else os.strerror(lost.errno or 0)


def is_utf8(stream: TextIO) -> bool:
    """True if a stream takes every letter."""
    try:
        return codecs.lookup(stream.encoding or "ascii").name == "utf-8"
    except LookupError:
        return False


def _forgiving(stream: TextIO | None) -> TextIO:
    if stream is None:
        # The program was started with its output closed.
        return open(os.devnull, "w", encoding="utf-8")
    try:
        raw = _Output(stream.fileno(), "w", closefd=False)
    except (OSError, io.UnsupportedOperation):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=_PLAIN_ERRORS,
        line_buffering=getattr(stream, "line_buffering", False) or raw.isatty(),
        write_through=getattr(stream, "write_through", False),
    )


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return "".join(one if one.isascii() else "?" for one in text), error.end
