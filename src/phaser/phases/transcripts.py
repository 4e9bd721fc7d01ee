"""Questions and answers kept as readable JSON, found again by the content of the question.

The same question is never paid for twice, and a whole segmentation replays without a network.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phaser.core.errors import BrokenFile
from phaser.core.files import read_json, write_json
from phaser.phases.vlm_request import Request

_FORMAT = 1
_MAX_FILE_BYTES = 8 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a server said, and what it says it cost (nothing, when it does not say)."""

    text: str
    num_tokens: int | None
    server: str


@dataclass(frozen=True, slots=True)
class Transcripts:
    """A folder with one file per question."""

    folder: Path

    def path(self, request: Request) -> Path:
        return self.folder / f"{request.key()}.json"

    def find(self, request: Request) -> Answer | None:
        """The answer to exactly this question; a file that was tampered with is refused."""
        path = self.path(request)
        if not path.exists():
            return None
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise BrokenFile(f"{path} has {path.stat().st_size} bytes; delete this transcript")
        content = read_json(path)
        answer = content.get("answer") if isinstance(content, dict) else None
        same = isinstance(answer, dict) and content.get("request") == request.described()
        if not same or content.get("format") != _FORMAT:
            raise BrokenFile(f"{path} is not the transcript of this request; delete it")
        return _answer(answer, path)

    def keep(self, request: Request, answer: Answer) -> Path:
        path = self.path(request)
        kept = {"text": answer.text, "num_tokens": answer.num_tokens, "server": answer.server}
        write_json(path, {"format": _FORMAT, "request": request.described(), "answer": kept})
        return path


def _answer(found: Any, path: Path) -> Answer:
    text, tokens, server = (found.get(name) for name in ("text", "num_tokens", "server"))
    counted = tokens is None or (isinstance(tokens, int) and not isinstance(tokens, bool))
    if not (isinstance(text, str) and isinstance(server, str) and counted):
        raise BrokenFile(f"{path} holds no usable answer; delete this transcript")
    return Answer(text=text, num_tokens=tokens, server=server)
