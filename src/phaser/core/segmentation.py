"""Phases (sub-skills) of a demonstration: half-open spans of frames that tile it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaser.core.errors import BrokenSegmentation


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """One sub-skill: frames `start` to `stop`, `stop` excluded."""

    label: str
    """Its name, such as grasp."""
    start: int
    """The first frame."""
    stop: int
    """The frame after the last."""

    def __len__(self) -> int:
        """How many frames the phase has."""
        return self.stop - self.start


@dataclass(frozen=True, kw_only=True, slots=True)
class Segmentation:
    """Phases of one demonstration: in order, no gap, no overlap, none empty."""

    num_frames: int
    """Frames of the demonstration."""
    phases: tuple[Phase, ...]
    """Its phases, in the order of time."""

    def __post_init__(self) -> None:
        edge = 0
        for phase in self.phases:
            if phase.start != edge or phase.stop <= phase.start:
                raise BrokenSegmentation(
                    f"phase {phase.label!r} spans [{phase.start}, {phase.stop}); "
                    f"expected start {edge} and at least one frame"
                )
            edge = phase.stop
        if edge != self.num_frames:
            raise BrokenSegmentation(
                f"phases end at frame {edge}, the demonstration at {self.num_frames}"
            )

    @classmethod
    def from_boundaries(
        cls, boundaries: Sequence[int], *, num_frames: int, labels: Sequence[str]
    ) -> Segmentation:
        """Phases between inner boundaries.

        Args:
            boundaries: the first frame of every phase but the first.
            num_frames: frames of the demonstration.
            labels: names of the phases; one more than there are boundaries.
        """
        edges = [0, *boundaries, num_frames]
        if len(labels) != len(edges) - 1:
            raise BrokenSegmentation(f"{len(edges) - 1} phases but {len(labels)} labels")
        spans = zip(labels, edges[:-1], edges[1:], strict=True)
        phases = tuple(Phase(label=label, start=a, stop=b) for label, a, b in spans)
        return cls(num_frames=num_frames, phases=phases)

    @property
    def boundaries(self) -> tuple[int, ...]:
        """The first frame of every phase but the first."""
        return tuple(phase.start for phase in self.phases[1:])

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the phases, in order."""
        return tuple(phase.label for phase in self.phases)

    def frames_of(self, label: str, *, stride: int = 1) -> list[int]:
        """The frames of a phase, which may come several times, or not at all.

        Args:
            label: the name of the phase.
            stride: take every so manieth frame, counted from where the phase begins each time.
        """
        return [
            frame
            for phase in self.phases
            if phase.label == label
            for frame in range(phase.start, phase.stop, stride)
        ]

    def phase_at(self, frame: int) -> int:
        """Index of the phase that holds a frame."""
        for index, phase in enumerate(self.phases):
            if phase.start <= frame < phase.stop:
                return index
        raise BrokenSegmentation(f"frame {frame} is outside [0, {self.num_frames})")


def phase_names(segmentations: Sequence[Segmentation]) -> tuple[str, ...]:
    """The phases of a task, each name once: as in the demonstration that has most of them.

    What that one lacks comes after, in the order in which it is met.
    """
    fullest = max(segmentations, key=lambda one: len(set(one.labels)))
    others = (label for one in segmentations for label in one.labels)
    return tuple(dict.fromkeys([*fullest.labels, *others]))
