"""Where an unfinished cell stands: `position.json`, the commit point of everything it does.

The tasks before `task_index` are learnt, kept and measured. The task itself is learnt up to `step`;
what was written beyond that is done again. Weights and moments lie beside it as safetensors files,
which count only if they have the hash that is written here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phaser.core.errors import BrokenFile
from phaser.core.files import read_json, write_bytes

POSITION = "position.json"
FORMAT, VERSION = "phaser-position", 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """All that a resumed cell needs beside its settings; streams follow from seed and names."""

    task_index: int = 0
    step: int = 0
    """Also the position on the learning rate's schedule, and in every random stream."""
    start_sha256: str | None = None
    """Weights with which this task began; none where they were fresh."""
    state_sha256: str | None = None
    """Weights, moments and record in the middle or at the end of this task."""
    contract: Mapping[str, Any] = field(default_factory=dict)
    """The observation contract, normalisation included, that the weights were trained under."""
    demonstrations: dict[str, dict[str, str]] = field(default_factory=dict)
    """SHA-256 of the recordings by task and split."""
    memory: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the shards of the memory by task."""
    horizons: dict[str, int] = field(default_factory=dict)
    """Control steps of an episode by task."""
    penalty: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the file that finished tasks left for the method's rules, by its name."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Processor time so far, also that of processes that were killed."""

    def write(self, path: Path) -> None:
        write_bytes(path, _serialised(self))

    @classmethod
    def read(cls, path: Path) -> Position:
        """A file in which any byte was changed is refused."""
        import cattrs

        found = read_json(path)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise BrokenFile(f"{path} is not the position of a run; restore it")
        if found.get("version") != VERSION:
            raise BrokenFile(
                f"{path} has version {found.get('version')}, this phaser reads {VERSION}; "
                "go on with the phaser that wrote it"
            )
        fields = {k: v for k, v in found.items() if k not in ("format", "version", "sha256")}
        try:
            position = cattrs.Converter(forbid_extra_keys=True).structure(fields, cls)
        except cattrs.errors.ClassValidationError as error:
            causes = "; ".join(cattrs.transform_error(error))
            raise BrokenFile(f"{path} is damaged ({causes}); restore it") from error
        if _serialised(position) != path.read_bytes():
            raise BrokenFile(f"{path} does not match its own checksum; restore it")
        return position


def _serialised(position: Position) -> bytes:
    import cattrs

    body = {"format": FORMAT, "version": VERSION, **cattrs.unstructure(position)}
    body["sha256"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return (json.dumps(body, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()
