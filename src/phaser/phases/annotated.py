"""Phases that people, or a model, have found already: carried to the demonstrations at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from phaser.core.demonstration import Demo, Task
from phaser.core.errors import BadInput, UnknownName
from phaser.core.ports import Segmenter
from phaser.core.segmentation import Segmentation
from phaser.phases.autopc import AutoPC
from phaser.phases.shipped import read_stages
from phaser.phases.stage_info import EpisodeStages, RatioPhase, TaskStages
from phaser.phases.transfer import by_ratio


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """The phases of one task: as shares of a typical demonstration, and in steps where known."""

    task: str
    phases: tuple[RatioPhase, ...]
    episodes: tuple[EpisodeStages, ...] = ()
    """Boundaries of single demonstrations, by their numbers."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(phase.name for phase in self.phases)


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotated(Segmenter):
    """Cuts annotated demonstrations where their annotation says, and carries that to the others.

    Without boundaries of single demonstrations, the annotated ratios are placed in the typical one.
    With a segmenter that cuts by ratio, all others get the ratios, as in the paper; else boundaries
    follow the events of each demonstration.
    """

    annotation: Annotation
    segmenter: Segmenter = field(default_factory=AutoPC)
    """Says how boundaries are carried, if it is Auto-PC; others do not carry any."""

    @property
    def max_phases(self) -> int | None:
        by_episode = (name for one in self.annotation.episodes for name in one.phases)
        return len({*self.annotation.names, *by_episode})

    def segment(self, demos: Sequence[Demo]) -> tuple[Segmentation, ...]:
        known = self._known(demos)
        carrier = self.segmenter if isinstance(self.segmenter, AutoPC) else AutoPC()
        reference = self._reference(demos, known, carrier)
        whole = known.get(reference) or self._by_ratio(demos[reference])
        carried = carrier.carry(whole.boundaries, demos, reference=reference)
        return tuple(
            known.get(position)
            or Segmentation.from_boundaries(
                [one.step for one in placed], num_frames=demo.num_frames, labels=whole.labels
            )
            for position, (demo, placed) in enumerate(zip(demos, carried, strict=True))
        )

    def _known(self, demos: Sequence[Demo]) -> dict[int, Segmentation]:
        """Annotated phases by the position of a demonstration.

        A number names the first demonstration that has it: held-out ones come later and may count
        from 0 again.
        """
        positions: dict[int, int] = {}
        for position, demo in enumerate(demos):
            positions.setdefault(demo.index, position)
        known: dict[int, Segmentation] = {}
        for one in self.annotation.episodes:
            if (at := positions.get(one.episode)) is None:
                continue
            if demos[at].num_frames != one.num_frames:
                raise BadInput(
                    f"demonstration {one.episode} of {self.annotation.task!r} has "
                    f"{demos[at].num_frames} frames, its annotation {one.num_frames}; segment "
                    "these demonstrations again, or remove the episodes from the file to use its "
                    "ratios"
                )
            known[at] = one.segmentation(self.annotation.names)
        return known

    def _reference(
        self, demos: Sequence[Demo], known: dict[int, Segmentation], carrier: AutoPC
    ) -> int:
        """The typical demonstration, among the annotated ones if there are any.

        One with the phases of the task comes before one that lacks some or repeats them.
        """
        if not known:
            return carrier.reference(demos)
        usual = [at for at, cut in known.items() if cut.labels == self.annotation.names]
        positions = sorted(usual or known)
        return positions[carrier.reference([demos[position] for position in positions])]

    def _by_ratio(self, demo: Demo) -> Segmentation:
        starts = [phase.start_ratio for phase in self.annotation.phases[1:]]
        return Segmentation.from_boundaries(
            by_ratio(starts, num_frames=demo.num_frames, min_phase_frames=1),
            num_frames=demo.num_frames,
            labels=self.annotation.names,
        )


def annotations_of(source: Path | str, tasks: Iterable[Task]) -> tuple[Annotation, ...]:
    """The annotation of every task in a shipped annotation or a stage_info.json."""
    stages = read_stages(str(source))
    return tuple(annotation_in(stages, task, source=source) for task in tasks)


def annotation_in(stages: dict[str, TaskStages], task: Task, *, source: Path | str) -> Annotation:
    """A task's annotation, found by the task's name, then by its instruction."""
    by_instruction = {one.instruction: one for one in stages.values()}
    found = stages.get(task.name) or by_instruction.get(task.instruction)
    if found is None:
        # Names are made of words in many ways: Lift, lift; open_drawer, open-drawer.
        alike = [one for name, one in stages.items() if _words(name) == _words(task.name)]
        found = alike[0] if len(alike) == 1 else None
    if found is None:
        raise UnknownName(f"task of {source}", task.name, stages)
    return Annotation(task=task.name, phases=found.phases, episodes=found.episodes)


def _words(name: str) -> str:
    return "".join(one for one in name.casefold() if one.isalnum())
