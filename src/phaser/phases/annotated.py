"""Phases that people, or a model, have found already: carried to the demonstrations at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from phaser.core.demonstration import Demo, Task
from phaser.core.errors import UnknownName
from phaser.core.segmentation import Segmentation
from phaser.phases.autopc import AutoPC, segmentations
from phaser.phases.stage_info import RatioPhase, TaskStages, read_stage_info
from phaser.phases.transfer import by_ratio


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """The phases of one task, as shares of a typical demonstration."""

    task: str
    phases: tuple[RatioPhase, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotated:
    """Places the annotated ratios in the typical demonstration and carries them to the others.

    With `auto.boundaries` "per-demo" they follow the events of each demonstration; with "ratio"
    all demonstrations get the ratios, as in the paper.
    """

    annotation: Annotation
    auto: AutoPC

    def segment(self, demos: Sequence[Demo]) -> tuple[Segmentation, ...]:
        position = self.auto.reference(demos)
        phases = self.annotation.phases
        steps = by_ratio(
            [phase.start_ratio for phase in phases[1:]],
            num_frames=demos[position].num_frames,
            min_phase_frames=1,
        )
        carried = self.auto.carry(steps, demos, reference=position)
        return segmentations(carried, demos, [phase.name for phase in phases])


def stages_of(path: Path, task: Task) -> TaskStages:
    """A task's annotation in a stage_info.json, by the task's name, then by its instruction."""
    stages = read_stage_info(path)
    by_instruction = {one.instruction: one for one in stages.values()}
    found = stages.get(task.name) or by_instruction.get(task.instruction)
    if found is None:
        raise UnknownName(f"task of {path}", task.name, stages)
    return found
