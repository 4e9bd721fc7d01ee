"""The budget certificate of a run, read back from `budget.json`.

A comparison at unequal budgets says nothing, so it is refused (`phaser.memory.certificate`), not
annotated. A method that keeps nothing has no budget and is exempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from phaser.core.errors import BrokenFile
from phaser.report.fields import as_list, as_object, read_object, text, whole


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseFrames:
    """How many frames one phase of one task holds."""

    task: str
    index: int
    label: str
    frames: int
    num_bytes: int
    """Encoded bytes; 0 where the run did not count them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    """The frames in memory after the last task, counted from the memory itself."""

    frames_per_task: Mapping[str, int]
    bytes_per_task: Mapping[str, int]
    """Encoded bytes by task; empty where the run did not count them."""
    phases: tuple[PhaseFrames, ...]
    total_frames: int

    def phases_of(self, task: str) -> tuple[PhaseFrames, ...]:
        return tuple(phase for phase in self.phases if phase.task == task)


def read_certificate(path: Path) -> Certificate:
    """Read `budget.json` and check that its sums agree."""
    value = read_object(path)
    per_task = as_object(value.get("frames_per_task"), path)
    counts = {task: whole(per_task, task, path) for task in per_task}
    encoded = as_object(value.get("bytes_per_task", {}), path)
    sizes = {task: whole(encoded, task, path) for task in encoded}
    total = whole(value, "total_frames", path)
    phases = tuple(
        PhaseFrames(
            task=text(entry, "task", path),
            index=whole(entry, "index", path),
            label=text(entry, "label", path),
            frames=whole(entry, "frames", path),
            num_bytes=whole(entry, "bytes", path) if "bytes" in entry else 0,
        )
        for entry in (
            as_object(item, path) for item in as_list(value.get("frames_per_phase"), path)
        )
    )
    in_phases = {task: sum(p.frames for p in phases if p.task == task) for task in counts}
    if sum(counts.values()) != total or in_phases != counts:
        raise BrokenFile(
            f"{path}: {total} frames in total, {sum(counts.values())} by task, "
            f"{sum(in_phases.values())} by phase; expected three equal sums"
        )
    bytes_in_phases = {task: sum(p.num_bytes for p in phases if p.task == task) for task in sizes}
    if bytes_in_phases != sizes:
        raise BrokenFile(
            f"{path}: {sum(sizes.values())} bytes by task, {sum(bytes_in_phases.values())} by "
            "phase; expected equal sums"
        )
    return Certificate(
        frames_per_task=counts, bytes_per_task=sizes, phases=phases, total_frames=total
    )
