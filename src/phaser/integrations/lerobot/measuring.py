"""Held-out loss of every learnt dataset, phase by phase, under LeRobot's policy as it is now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from phaser.core.files import parsed_json, read_bytes, read_json, write_json, write_text
from phaser.core.segmentation import Segmentation, phase_names
from phaser.replay.columns import Columns, read_columns
from phaser.replay.tensors import collated

LOSSES = "losses.jsonl"
BATCH = 16
SEED = 20_000
"""Of the noise in losses that have some, the same at every measurement, so that they compare."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """The held-out frames of one phase that are measured."""

    phase: str
    share: float
    """Of all held-out frames of the dataset."""
    frames: tuple[tuple[int, int], ...]
    """Episode and frame."""


def chosen_frames(
    segmentations: Mapping[int, Segmentation], held_out: Sequence[int], *, most: int
) -> list[Chosen]:
    """At most so many held-out frames of every phase, spread evenly; phases in order of time."""
    own = {episode: segmentations[episode] for episode in held_out}
    total = sum(one.num_frames for one in own.values())
    found = []
    for label in phase_names(tuple(segmentations.values())):
        frames = [
            (episode, frame) for episode, cut in own.items() for frame in cut.frames_of(label)
        ]
        if frames:
            places = np.unique(np.linspace(0, len(frames) - 1, min(most, len(frames))).astype(int))
            picked = tuple(frames[place] for place in places)
            found.append(Chosen(phase=label, share=len(frames) / total, frames=picked))
    return found


def write_chosen(path: Path, chosen: Sequence[Chosen]) -> None:
    rows = [{"phase": one.phase, "share": one.share, "frames": one.frames} for one in chosen]
    write_json(path, rows)


def read_chosen(path: Path) -> list[Chosen]:
    return [
        Chosen(
            phase=row["phase"],
            share=row["share"],
            frames=tuple((int(episode), int(frame)) for episode, frame in row["frames"]),
        )
        for row in read_json(path)
    ]


def frame_rows(dataset: Any, columns: Columns) -> dict[tuple[int, int], int]:
    """The row of every (episode, frame) of a dataset."""
    found = read_columns(dataset, [columns.episode, columns.frame])
    pairs = zip(np.ravel(found[columns.episode]), np.ravel(found[columns.frame]), strict=True)
    return {(int(episode), int(frame)): row for row, (episode, frame) in enumerate(pairs)}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PolicyLoss:
    """The loss of a LeRobot policy on samples of a dataset."""

    policy: Any
    preprocessor: Any
    collate: Callable[[list[Any]], Any] | None = None

    def total(self, samples: Sequence[Any]) -> float:
        """The loss of these samples, summed; no gradient, no dropout, the same noise each time."""
        total = 0.0
        with _measuring(self.policy):
            for start in range(0, len(samples), BATCH):
                part = list(samples[start : start + BATCH])
                batch = _as_floats((self.collate or collated)(part))
                found = self.policy.forward(self.preprocessor(batch))
                loss = found[0] if isinstance(found, tuple) else found
                total += float(loss) * len(part)
        return total


@contextmanager
def _measuring(policy: Any) -> Iterator[None]:
    config, training = policy.config, policy.training
    # ACT of LeRobot 0.4 asks its encoder of actions for a term that exists only in training.
    variational = getattr(config, "use_vae", None)
    devices = range(torch.cuda.device_count())
    try:
        policy.eval()
        if variational:
            config.use_vae = False
        with torch.no_grad(), torch.random.fork_rng(devices=devices):
            torch.manual_seed(SEED)
            yield
    finally:
        policy.train(training)
        if variational:
            config.use_vae = variational


def _as_floats(batch: Any) -> Any:
    """Images of bytes in [0, 1], as LeRobot 0.6 makes them after its loader."""
    return {
        name: value.float() / 255
        if isinstance(value, torch.Tensor) and value.dtype == torch.uint8 and value.ndim > 3
        else value
        for name, value in batch.items()
    }


def add_losses(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows to the losses of a stream; those of the same moment are replaced."""
    moments = {row["after_index"] for row in rows}
    kept = [row for row in read_losses(path) if row["after_index"] not in moments]
    write_text(path, "".join(json.dumps(row) + "\n" for row in (*kept, *rows)))


def read_losses(path: Path) -> list[dict[str, Any]]:
    """One row per moment, dataset and phase, as in a run's losses.parquet."""
    if not path.exists():
        return []
    return [parsed_json(line, str(path)) for line in read_bytes(path).splitlines()]
