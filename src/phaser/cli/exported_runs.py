"""Kept frames as runs of neighbours: what becomes an episode of an exported dataset.

LeRobot takes the next rows of an episode for the next moments, and their actions for the rest of a
chunk. So an episode holds neighbours only; where the memory skipped a frame, another one begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from phaser.core.demonstration import FrameRef
from phaser.core.segmentation import Segmentation
from phaser.memory.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFrame:
    """One frame of a run and the phase it belongs to."""

    ref: FrameRef
    phase_index: int
    phase: str
    kept: bool = True
    """False for a neighbour that the memory does not hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FrameRun:
    """Neighbouring frames of one demonstration."""

    task: str
    instruction: str
    frames: tuple[RunFrame, ...]

    @property
    def demo(self) -> int:
        return self.frames[0].ref.demo

    @property
    def segmentation(self) -> Segmentation:
        """Phases of the run, whose first frame counts as 0."""
        changes = [
            place
            for place in range(1, len(self.frames))
            if self.frames[place].phase != self.frames[place - 1].phase
        ]
        return Segmentation.from_boundaries(
            changes,
            num_frames=len(self.frames),
            labels=[self.frames[place].phase for place in (0, *changes)],
        )


def frame_runs(
    store: Store, *, chunk: int = 1, lengths: dict[str, dict[int, int]] | None = None
) -> Iterator[FrameRun]:
    """Everything that a memory keeps, as runs in the order of tasks, demonstrations and time.

    Args:
        store: the memory.
        chunk: every kept frame brings the frames of a chunk of actions that begins with it.
        lengths: frames of each demonstration, by task and number, where a chunk is longer than 1.
    """
    for task in store.tasks:
        kept = {
            ref: RunFrame(ref=ref, phase_index=bucket.phase.index, phase=bucket.phase.label)
            for bucket in store.shard(task.name).buckets()
            for ref in bucket.frames
        }
        ends = (lengths or {}).get(task.name, {})
        wanted = sorted(kept, key=lambda ref: (ref.demo, ref.frame))
        for demo, refs in groupby(wanted, key=lambda ref: ref.demo):
            frames = _with_neighbours([kept[ref] for ref in refs], chunk, ends.get(demo))
            for run in _split(frames):
                yield FrameRun(task=task.name, instruction=task.instruction, frames=tuple(run))


def _with_neighbours(kept: list[RunFrame], chunk: int, num_frames: int | None) -> list[RunFrame]:
    """Kept frames and those that follow them within a chunk, which take on their phase."""
    found: dict[int, RunFrame] = {}
    for one in kept:
        start = one.ref.frame
        stop = start + 1 if num_frames is None else min(start + chunk, num_frames)
        for frame in range(start + 1, stop):
            found[frame] = RunFrame(
                ref=FrameRef(one.ref.task, one.ref.demo, frame),
                phase_index=one.phase_index,
                phase=one.phase,
                kept=False,
            )
    found |= {one.ref.frame: one for one in kept}
    return [found[frame] for frame in sorted(found)]


def _split(frames: list[RunFrame]) -> Iterator[list[RunFrame]]:
    run: list[RunFrame] = []
    for one in frames:
        if run and one.ref.frame != run[-1].ref.frame + 1:
            yield run
            run = []
        run.append(one)
    yield run
