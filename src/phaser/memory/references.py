"""Frames that stay in their dataset: a task keeps where they are, and a hash of the files.

The sample of such a frame is one number, its row in the dataset. The task's `source` says which
LeRobot dataset that is, how it was opened, and the hash that its files had; nothing else of the
memory's format changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.extras import libraries_for
from phaser.core.folders import cache_folder
from phaser.demos.content_hash import remembered_sha256
from phaser.memory.sample import Sample
from phaser.memory.stored_task import MAX_TEXT, StoredTask

ROW = "phaser.row"
"""The only key of a sample that is a reference."""
_STORE, _REFERENCE = "store", "reference"
_TYPES = {"repo_id": str, "root": str, "video_backend": str, "return_uint8": bool}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A LeRobot dataset that stays where it is, and how it was opened."""

    repo_id: str
    root: str
    """Its folder."""
    revision: str | None = None
    episodes: list[int] | None = None
    """The episodes that were chosen; None: all."""
    delta_timestamps: dict[str, list[float]] | None = None
    video_backend: str = ""
    return_uint8: bool = False
    files_sha256: str = ""
    """One hash over the dataset's description and all data files of those episodes."""

    def source(self) -> dict[str, str]:
        """What the entry of a task says of it."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        if len(text) > MAX_TEXT:
            raise BadInput(
                f"the dataset {self.repo_id!r} was opened with settings of {len(text):,} "
                f"characters (episodes, delta_timestamps); references hold {MAX_TEXT:,}: keep "
                "copies (store='content'), or open it with fewer chosen episodes"
            )
        return {_STORE: "references", _REFERENCE: text}

    def check_files(self, hash_of: Callable[[Path], str] | None = None) -> None:
        """Refuse a dataset that is gone or has other files than when its frames were kept.

        hash_of: the hash of one file; left out, it is remembered by size and time of change.
        """
        root = Path(self.root)
        if not (root / "meta" / "info.json").exists():
            raise BrokenFile(
                f"the dataset {self.repo_id!r}, whose frames this memory refers to, is not at "
                f"{root}; restore it, or forget its task"
            )
        if files_sha256(root, self.episodes, hash_of) != self.files_sha256:
            raise BrokenFile(
                f"the dataset at {root} has other files than when its frames were kept; restore "
                "it, or forget its task"
            )


def reference_of(task: StoredTask) -> Reference | None:
    """The dataset that a task refers to; None where it holds its frames itself."""
    if task.source.get(_STORE) != "references":
        return None
    broken = BrokenFile(f"task {task.name!r} does not say which dataset it refers to; restore it")
    try:
        found: Any = json.loads(task.source[_REFERENCE])
        reference = Reference(**found)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise broken from error
    if not all(isinstance(getattr(reference, name), kind) for name, kind in _TYPES.items()):
        raise broken
    return reference


def without_reference(source: dict[str, str]) -> dict[str, str]:
    """What is left to say of a task once its frames were copied."""
    return {key: said for key, said in source.items() if key not in (_STORE, _REFERENCE)}


def row_sample(row: int) -> Sample:
    """The stored sample of a frame that stays in its dataset."""
    return {ROW: np.int64(row)}


def row_in(sample: Sample) -> int | None:
    """The row that a stored sample refers to; None where it is a sample itself."""
    return int(sample[ROW]) if isinstance(sample, dict) and sample.keys() == {ROW} else None


def files_sha256(
    root: Path, episodes: list[int] | None, hash_of: Callable[[Path], str] | None = None
) -> str:
    """One hash over a dataset's description and the data files of some episodes, or of all."""
    # Imported here: pyarrow is no part of what a memory of copies needs.
    with libraries_for("references to datasets"):
        from phaser.demos.lerobot import open_dataset

        cache = cache_folder()
    hash_of = hash_of or (lambda path: remembered_sha256(path, cache))
    home = root.resolve()
    chosen = None if episodes is None else set(episodes)
    paths = {home / "meta" / "info.json"}
    for episode in open_dataset(root).episodes:
        if chosen is None or episode.index in chosen:
            paths |= {episode.path, *(place.path for place in episode.videos.values())}
    lines = [f"{path.relative_to(home)} {hash_of(path)}\n" for path in sorted(paths)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def require_content(store_tasks: Iterable[StoredTask], folder: Path) -> None:
    """Refuse a memory that refers to datasets where the frames themselves are asked for."""
    for task in store_tasks:
        reference = reference_of(task)
        if reference is not None:
            raise BadInput(
                f"task {task.name!r} only refers to frames in {reference.root}; copy them first: "
                f"phaser memory materialise {folder}"
            )
