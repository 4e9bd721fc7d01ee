"""Stored frames as the user's own samples, wherever they are: in the memory, or in a dataset.

Datasets that a memory refers to are opened again with LeRobot, as they were opened when their
frames were kept, without image transforms.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput, BrokenFile, PhaserError
from phaser.core.extras import libraries_for
from phaser.memory.references import Reference, files_sha256, reference_of, row_in
from phaser.memory.store import Store
from phaser.replay.nested_datasets import datasets_inside
from phaser.replay.samples import user_form


@dataclass(frozen=True, slots=True, eq=False)
class StoredSamples:
    """Reads stored frames, and opens the datasets that some of them stayed in."""

    store: Store
    _datasets: dict[str, Any] = field(default_factory=dict)

    def checked(self) -> StoredSamples:
        """The same, refused where a dataset that frames stayed in is gone or was changed."""
        for task in self.store.tasks:
            reference = reference_of(task)
            if reference is not None and Path(reference.root, "meta", "info.json").exists():
                reference.check_files()
            elif reference is not None:
                self._dataset(task.name)
        return self

    def read(self, refs: Sequence[FrameRef]) -> list[Any]:
        """The samples of these frames, in this order."""
        return self.content(refs, self.kept(refs))

    def kept(self, refs: Sequence[FrameRef]) -> list[Any]:
        """What the memory itself holds of these frames; opens no dataset, so any thread may ask."""
        return [user_form(one) for one in self.store.read(refs)] if refs else []

    def content(self, refs: Sequence[FrameRef], kept: list[Any]) -> list[Any]:
        """The samples that `kept` refers to, where it does; for the thread that trains alone,
        since video decoders do not bear two."""
        found = []
        for ref, one in zip(refs, kept, strict=True):
            row = row_in(one)
            found.append(one if row is None else self.sample_at(ref, row))
        return found

    def sample_at(self, ref: FrameRef, row: int) -> Any:
        """The sample of one row of the dataset that a task refers to."""
        sample = self._dataset(ref.task)[row]
        there = int(sample["episode_index"]), int(sample["frame_index"])
        if there != (ref.demo, ref.frame):
            raise BrokenFile(
                f"row {row} of the dataset of task {ref.task!r} is frame {there[1]} of episode "
                f"{there[0]}, and was frame {ref.frame} of episode {ref.demo} when it was kept; "
                "restore the dataset"
            )
        return sample

    def _dataset(self, task: str) -> Any:
        if task not in self._datasets:
            reference = reference_of(self.store.manifest.task(task))
            assert reference is not None
            self._datasets[task] = reopened(reference)
        return self._datasets[task]


def reopened(reference: Reference) -> Any:
    """The dataset that frames stayed in, from its folder or the hub, verified by hash."""
    dataset_class = _lerobot_dataset()
    here = Path(reference.root, "meta", "info.json").exists()
    if here:
        reference.check_files()
    settings: dict[str, Any] = {"return_uint8": True} if reference.return_uint8 else {}
    try:
        dataset = dataset_class(
            reference.repo_id,
            root=reference.root,
            revision=reference.revision,
            episodes=reference.episodes,
            delta_timestamps=reference.delta_timestamps,
            video_backend=reference.video_backend or None,
            **settings,
        )
    except PhaserError:
        raise
    except Exception as error:
        raise BadInput(
            f"the dataset {reference.repo_id!r}, whose frames this memory refers to, cannot be "
            f"opened at {reference.root} ({error}); restore it, or forget its task"
        ) from error
    if not here:
        reference.check_files()
    return dataset


def reference_to(dataset: Any) -> Reference:
    """A LeRobot dataset as another process can open it again; one line for any other."""
    base = _base(dataset)
    root = getattr(base, "root", None)
    if root is None or not hasattr(base, "repo_id") or not hasattr(base, "hf_dataset"):
        raise BadInput(
            f"store='references' needs a LeRobotDataset, or a Subset of one, that another process "
            f"can open again; a {type(base).__name__} was given: keep copies (store='content')"
        )
    episodes = getattr(base, "episodes", None)
    chosen = None if episodes is None else [int(one) for one in episodes]
    backend = getattr(base, "video_backend", None) or getattr(base, "_video_backend", None)
    return Reference(
        repo_id=str(base.repo_id),
        root=str(Path(root).resolve()),
        revision=getattr(base, "revision", None),
        episodes=chosen,
        delta_timestamps=getattr(base, "delta_timestamps", None),
        video_backend=str(backend or ""),
        return_uint8=bool(getattr(base, "_return_uint8", False)),
        files_sha256=files_sha256(Path(root), chosen),
    )


def base_row(dataset: Any, row: int) -> int:
    """The row of the innermost dataset that a row of a Subset, or of a Subset of it, is."""
    dataset = getattr(dataset, "subset", dataset)
    while inside := datasets_inside(dataset):
        row, dataset = int(np.asarray(dataset.indices)[row]), inside[0]
    return row


def _base(dataset: Any) -> Any:
    dataset = getattr(dataset, "subset", None) or getattr(dataset, "joined", None) or dataset
    while hasattr(dataset, "indices") and (inside := datasets_inside(dataset)):
        dataset = inside[0]
    return dataset


def _lerobot_dataset() -> Any:
    with libraries_for("frames that stayed in LeRobot datasets"):
        return importlib.import_module("lerobot.datasets.lerobot_dataset").LeRobotDataset
