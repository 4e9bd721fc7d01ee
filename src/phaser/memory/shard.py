"""An open shard: references, prototypes and samples of one stored task, read from the map."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, Int64

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.frame_refs import FrameRefs
from phaser.core.memory import Bucket, PhaseId, Prototype
from phaser.memory.leaf_reader import LeafReader, open_leaf
from phaser.memory.sample import Sample
from phaser.memory.sample_tree import Node, check_node, join, leaf_paths
from phaser.memory.shard_writer import REF_BYTES, SHARD_FORMAT, SHARD_VERSION
from phaser.memory.stored_task import StoredTask
from phaser.memory.tensor_file import TensorFile, open_tensor_file, version_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Shard:
    """The frames of one task; holds no open file, only the map."""

    path: Path
    task: StoredTask
    file: TensorFile
    node: Node
    leaves: tuple[LeafReader, ...]
    episodes: Int64[np.ndarray, "episodes"]
    order: Int64[np.ndarray, "count"]
    keys: Int64[np.ndarray, "count"]
    """The episodes in rising order, the frames in rising order, and the row of each: how a frame
    is found."""

    @classmethod
    def open(cls, path: Path, task: StoredTask) -> Shard:
        file = open_tensor_file(path, num_bytes=task.num_bytes)
        description = _description(file, path)
        if description["task"] != task.name or description["codec"] != asdict(task.codec):
            raise BrokenFile(f"{path} is not the shard of task {task.name!r}; restore it")
        _check_arrays(file.arrays, task, path)
        episodes, order, keys = _sorted_frames(file.arrays, path)
        leaves = tuple(
            open_leaf(
                entry,
                f"leaf.{position}",
                file.arrays,
                rows=task.num_frames,
                codec=task.codec,
                where=str(path),
            )
            for position, entry in enumerate(description["leaves"])
        )
        check_node(description["structure"], len(leaves), where=str(path))
        return cls(
            path=path,
            task=task,
            file=file,
            node=description["structure"],
            leaves=leaves,
            episodes=episodes,
            order=order,
            keys=keys,
        )

    def leaf_paths(self) -> tuple[str, ...]:
        """Names of the leaves, in the order of `leaves`."""
        return tuple(leaf_paths(self.node))

    def buckets(self) -> list[Bucket]:
        """The task's buckets as they were kept: same order, same prototypes, frames on demand."""
        name, arrays = self.task.name, self.file.arrays
        # Copied: a memory in use keeps its frames and prototypes if the shard is forgotten.
        demos, numbers = arrays["demo"].astype(np.int64), arrays["frame"].copy()
        ranks = arrays["rank"].tolist() if "rank" in arrays else None
        prototypes = zip(
            *(arrays[f"prototype.{part}"].copy() for part in ("language", "vision", "action")),
            map(tuple, arrays["prototype.motion"].tolist()),
            strict=True,
        )
        edge = 0
        made: list[Bucket] = []
        for row, parts in zip(self.task.holding(), prototypes, strict=True):
            stop = edge + row["frames"]
            frames = FrameRefs(name, demos[edge:stop], numbers[edge:stop])
            language, vision, action, motion = parts
            prototype = Prototype(language=language, vision=vision, action=action, motion=motion)
            phase = PhaseId(name, row["index"], row["label"])
            made.append(
                Bucket(
                    phase=phase,
                    frames=frames,
                    prototype=prototype,
                    ranks=() if ranks is None else tuple(ranks[edge:stop]),
                )
            )
            edge = stop
        self._check_unchanged()
        return made

    def rows(
        self, demos: Int[np.ndarray, "count"], frames: Int[np.ndarray, "count"]
    ) -> Int64[np.ndarray, "count"]:
        """Where these frames stand; a frame that is not stored is refused by name."""
        codes = np.minimum(np.searchsorted(self.episodes, demos), len(self.episodes) - 1)
        wanted = _keys(codes, frames)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        # Beyond 31 bits a frame number would spill into the episode's half of the key.
        absent = (self.keys[at] != wanted) | (frames < 0) | (frames >= 1 << 31)
        absent |= self.episodes[codes] != demos
        for position in np.flatnonzero(absent):
            raise BadInput(
                f"frame {frames[position]} of episode {demos[position]} of task "
                f"{self.task.name!r} is not in the memory"
            )
        rows: np.ndarray = self.order[at]
        return rows

    def samples(self, rows: Sequence[int]) -> list[Sample]:
        try:
            return [join(self.node, [leaf.read(row) for leaf in self.leaves]) for row in rows]
        finally:
            self._check_unchanged()

    def row_bytes(self, rows: Int64[np.ndarray, "kept"]) -> Int64[np.ndarray, "kept"]:
        """Encoded bytes of each of these rows where no others are kept."""
        total = np.full(len(rows), REF_BYTES, np.int64)
        for leaf in self.leaves:
            total += leaf.row_bytes(rows)
        return total

    def _check_unchanged(self) -> None:
        """Forgetting overwrites a shard: what another process reads from the map is then void.

        A shard that only gave way to a smaller one is gone by name, and its map is still whole.
        """
        try:
            same = version_of(os.lstat(self.path)) == self.file.version
        except FileNotFoundError:
            same = self.file.is_whole()
        if not same:
            raise BrokenFile(
                f"{self.path} was changed or removed after this memory was opened; open it again"
            )


def _keys(
    codes: Int[np.ndarray, "count"], frames: Int[np.ndarray, "count"]
) -> Int64[np.ndarray, "count"]:
    """The place of an episode and a frame as one number, so that one sorted search finds both."""
    keys: np.ndarray = codes.astype(np.int64) * (1 << 32) + frames
    return keys


def _description(file: TensorFile, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.text["phaser"])
    except (KeyError, ValueError, RecursionError) as error:
        raise BrokenFile(f"{path} does not describe its samples; restore it") from error
    wanted = {"format", "version", "task", "codec", "structure", "leaves"}
    if not isinstance(found, dict) or not wanted <= set(found) <= wanted | {"entry"}:
        raise BrokenFile(f"{path} does not describe its samples; restore it")
    if found["format"] != SHARD_FORMAT or found["version"] not in (1, SHARD_VERSION):
        raise BrokenFile(
            f"{path} is a {found['format']!r} of version {found['version']!r}; this phaser reads "
            f"{SHARD_FORMAT!r} of versions 1 and {SHARD_VERSION}, a newer phaser may read it"
        )
    if not isinstance(found["leaves"], list) or not isinstance(found.get("entry", {}), dict):
        raise BrokenFile(f"{path} does not describe its samples; restore it")
    return found


def _check_arrays(arrays: Mapping[str, np.ndarray], task: StoredTask, path: Path) -> None:
    """The references and prototypes that the manifest promises."""
    holding = task.holding()
    rows, phases = task.num_frames, len(holding)
    for name in ("demo", "frame", "phase", *(["rank"] if "rank" in arrays else [])):
        found = arrays.get(name)
        kinds = (np.int32, np.int64) if name == "demo" else (np.int32,)
        if found is None or found.shape != (rows,) or found.dtype not in kinds:
            raise BrokenFile(f"{path} lacks the references of its {rows} frames; restore it")
    for part in ("language", "vision", "action", "motion"):
        found = arrays.get(f"prototype.{part}")
        kind = "i" if part == "motion" else "f"
        if found is None or found.dtype.kind != kind or found.ndim != 2 or len(found) != phases:
            raise BrokenFile(f"{path} lacks the prototypes of its {phases} phases; restore it")
    counts = [row["frames"] for row in holding]
    if not np.array_equal(arrays["phase"], np.repeat([row["index"] for row in holding], counts)):
        raise BrokenFile(f"{path} has frames of other phases than the manifest; restore it")


def _sorted_frames(
    arrays: Mapping[str, np.ndarray], path: Path
) -> tuple[Int64[np.ndarray, "episodes"], Int64[np.ndarray, "count"], Int64[np.ndarray, "count"]]:
    episodes, codes = np.unique(arrays["demo"].astype(np.int64), return_inverse=True)
    keys = _keys(codes, arrays["frame"])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    if arrays["frame"].min() < 0 or (keys[1:] == keys[:-1]).any():
        raise BrokenFile(f"{path} holds a frame twice or one that cannot be; restore it")
    return episodes, order, keys
