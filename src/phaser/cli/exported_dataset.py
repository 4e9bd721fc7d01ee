"""A memory on its way into a LeRobot dataset: runs of frames, from itself or from its source."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from phaser.cli.export_sources import ExportSources, declared
from phaser.cli.exported_runs import FrameRun
from phaser.cli.memory_leaves import leaves_of, numbers_of, picture_of
from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.files import read_json, write_json
from phaser.demos.lerobot_layout import Shapes
from phaser.demos.lerobot_writer import Episode, write_dataset
from phaser.memory.sample import Sample
from phaser.memory.store import Store
from phaser.phases.lerobot_export import write_phases

COUNTERS = ("phase_index", "source_episode_index", "source_frame_index")
DEFAULT_FPS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Entries:
    """Which entries of a stored sample become which columns."""

    action: str
    state: str
    cameras: dict[str, str]
    """The entry of each camera, by the camera's name in the dataset."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Export:
    """One memory on its way into a dataset."""

    store: Store
    entries: Entries
    runs: Sequence[FrameRun]
    sources: ExportSources | None
    mergeable: bool = False
    """True: no column of ours, so that LeRobot's tools see those of the source."""
    fps: int | None = None
    robot_type: str | None = None

    def write(self, out: Path) -> Shapes:
        """Write the dataset beside `out` first, then again with its phases; `out` appears whole."""
        shapes = self._shapes()
        name = tempfile.mkdtemp(dir=out.resolve().parent, prefix=f".{out.name}.", suffix=".tmp")
        draft = Path(name) / "frames"
        try:
            write_dataset(draft, map(self._episode, self.runs), shapes=shapes, sidecar=None)
            if self.sources is not None:
                _as_described(draft, self.sources.features())
            if self.mergeable:
                draft.replace(out)
            else:
                phases = {number: run.segmentation for number, run in enumerate(self.runs)}
                write_phases(draft, out, phases, source="phaser memory")
        finally:
            shutil.rmtree(name, ignore_errors=True)
        return shapes

    def _episode(self, run: FrameRun) -> Episode:
        frames = [one.ref.frame for one in run.frames]
        kept = [one.ref for one in run.frames if one.kept]
        samples = dict(zip(kept, self.store.read(kept), strict=True))
        if self.sources is None:
            found = _from_memory(run, samples, self.entries)
        else:
            for ref, sample in samples.items():
                action = _vector(ref, sample, self.entries.action, row=0)
                self.sources.check(run.task, run.demo, ref.frame, action)
            cameras = list(self.entries.cameras)
            found = replace(
                self.sources.episode(run.task, run.demo, frames, cameras),
                instruction=run.instruction,
            )
        if self.mergeable:
            return found
        counters = {
            "phase_index": np.array([one.phase_index for one in run.frames]),
            "source_episode_index": np.full(len(frames), run.demo),
            "source_frame_index": np.array(frames),
        }
        return replace(found, counters=counters)

    def _shapes(self) -> Shapes:
        """Robot, rate and names as flags say, else as the source does, else made up."""
        first = self._episode(self.runs[0])
        known = declared(self.store.tasks[0].source)
        if self.sources is not None:
            shapes = self.sources.datasets[self.runs[0].task].shapes
            known = {"robot_type": shapes.robot_type, "fps": shapes.fps, "names": {}}
            known["names"] = {
                "action": shapes.action_names,
                "observation.state": shapes.state_names,
            }
        return Shapes(
            fps=self.fps or known["fps"] or DEFAULT_FPS,
            robot_type=self.robot_type or known["robot_type"] or "unknown",
            state_names=_names(known["names"], self.entries.state, first.states.shape[1]),
            action_names=_names(known["names"], self.entries.action, first.actions.shape[1]),
            cameras={name: (part.shape[1], part.shape[2]) for name, part in first.images.items()},
            counters=() if self.mergeable else COUNTERS,
        )


def _from_memory(run: FrameRun, samples: Mapping[FrameRef, Sample], entries: Entries) -> Episode:
    found = list(samples.items())
    return Episode(
        instruction=run.instruction,
        actions=np.stack([_vector(ref, one, entries.action, row=0) for ref, one in found]),
        states=np.stack([_vector(ref, one, entries.state, row=-1) for ref, one in found]),
        images={
            name: np.stack([_picture(ref, one, entry) for ref, one in found])
            for name, entry in entries.cameras.items()
        },
    )


def _as_described(draft: Path, features: Mapping[str, Any]) -> None:
    """Describe columns in the source's words, so that LeRobot's own tools see the same columns."""
    info = read_json(draft / "meta/info.json")
    for name, described in info["features"].items():
        if name in features and features[name].get("dtype") == described["dtype"]:
            info["features"][name] = features[name]
    write_json(draft / "meta/info.json", info)


def _names(known: Mapping[str, Sequence[str]], entry: str, size: int) -> tuple[str, ...]:
    found = known.get(entry, ())
    return tuple(found) if len(found) == size else tuple(f"{entry}_{k}" for k in range(size))


def _vector(ref: FrameRef, sample: Sample, entry: str, *, row: int) -> np.ndarray:
    leaves = leaves_of(sample)
    found = numbers_of(leaves[entry], row=row) if entry in leaves else None
    if found is None:
        raise BadInput(f"{entry!r} of {_place(ref)} is no vector of numbers; name another entry")
    return found


def _picture(ref: FrameRef, sample: Sample, entry: str) -> np.ndarray:
    leaves = leaves_of(sample)
    found = picture_of(leaves[entry]) if entry in leaves else None
    if found is None:
        raise BadInput(
            f"{entry!r} of {_place(ref)} is no image in bytes, nor one scaled to [0, 1]; name "
            "others with --images"
        )
    return found


def _place(ref: FrameRef) -> str:
    return f"frame {ref.frame} of episode {ref.demo} of task {ref.task!r}"
