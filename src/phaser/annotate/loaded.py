"""The demonstrations of one task as the page shows them: signals, candidates, what Auto-PC says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phaser.annotate.document import EpisodeMarks, carried_marks
from phaser.annotate.marks import Marks
from phaser.core.demonstration import Demo, Task
from phaser.core.errors import BadInput
from phaser.phases.annotated import Annotated, Annotation
from phaser.phases.autopc import AutoPC
from phaser.phases.signals import gripper_levels, scaled_motion, signals
from phaser.phases.stages import TaskStages
from phaser.phases.transfer import Placed, Source
from phaser.phases.verify import find_phases

NEAR = 2
"""Steps around a boundary in which the score may speak for it."""
DOUBTFUL = 0.5
"""Below this confidence a carried boundary needs a look."""


class LoadedTask:
    """A task whose demonstrations have been read; images stay in their files."""

    def __init__(self, task: Task, demos: Sequence[Demo], auto: AutoPC) -> None:
        if not demos:
            raise BadInput(f"task {task.name!r} has no demonstrations")
        self.task, self.auto = task, auto
        self.demos = {demo.index: demo for demo in demos}
        self._scores: dict[int, np.ndarray] = {}
        self._candidates: dict[int, list[dict[str, Any]]] = {}

    def demo(self, episode: int) -> Demo | None:
        return self.demos.get(episode)

    def curves(self, episode: int) -> dict[str, list[float]]:
        """Gripper, speed, turning and boundary score at every step, each from 0 to 1."""
        demo, rules = self.demos[episode], self.auto.signals
        grippers = gripper_levels(demo, rules)
        return {
            "gripper": _rounded(grippers.max(axis=1) if grippers.shape[1] else None, demo),
            "speed": _rounded(np.linalg.norm(scaled_motion(demo, rules), axis=1), demo),
            "turning": _rounded(signals(demo, rules).motion_change, demo),
            "score": _rounded(self._score(episode), demo),
        }

    def candidates(self, episode: int) -> list[dict[str, Any]]:
        """Steps at which a phase may begin, how strongly, and why."""
        if episode not in self._candidates:
            self._candidates[episode] = [
                {"step": one.step, "score": round(one.score, 3), "why": sorted(one.evidence)}
                for one in self.auto.candidates(self.demos[episode])
                if one.step > 0
            ]
        return self._candidates[episode]

    def confidences(self, episode: int, marks: Marks) -> list[float]:
        """How sure each boundary is: a person's and a model's are, a ratio's is not."""
        score, found = self._score(episode), []
        for step, source in zip(marks.boundaries, marks.sources, strict=True):
            if source in ("human", "model"):
                found.append(1.0)
            elif source == "ratio":
                found.append(0.0)
            else:
                peak = float(score[max(step - NEAR, 0) : step + NEAR + 1].max())
                found.append(round(peak / (peak + self.auto.min_score), 2))
        return found

    def needs_a_look(self, episode: int, marks: Marks) -> bool:
        """True for a demonstration that nobody verified and that has a doubtful boundary."""
        sure = self.confidences(episode, marks)
        return marks.state == "candidate" and any(one < DOUBTFUL for one in sure)

    def proposed(self, before: TaskStages | None) -> EpisodeMarks:
        """Phases of all demonstrations: by the ratios that the file has, else Auto-PC's."""
        demos = list(self.demos.values())
        sources: Sequence[tuple[Source, ...]]
        if before is not None:
            annotation = Annotation(task=self.task.name, phases=before.phases)
            cuts = Annotated(annotation=annotation, segmenter=self.auto).segment(demos)
            ratio: Source = "ratio"
            sources = [(ratio,) * len(one.boundaries) for one in cuts]
        else:
            phases = find_phases(demos, instruction=self.task.instruction, auto=self.auto)
            cuts, sources = phases.segmentations, phases.boundary_sources
        return {
            demo.index: Marks(
                num_frames=demo.num_frames,
                boundaries=cut.boundaries,
                sources=source,
                names=cut.labels,
                state="candidate",
            )
            for demo, cut, source in zip(demos, cuts, sources, strict=True)
        }

    def carried(self, episode: int, marks: Marks, all_marks: Mapping[int, Marks]) -> EpisodeMarks:
        """The phases of one demonstration in all others that nobody has verified or edited."""
        demos = list(self.demos.values())
        free = {
            demo.index
            for demo in demos
            if demo.index != episode
            and demo.num_frames >= len(marks.names)
            and _untouched_by_people(all_marks.get(demo.index))
        }
        if not free:
            return {}
        fitting = [demo for demo in demos if demo.index in free or demo.index == episode]
        reference = [demo.index for demo in fitting].index(episode)
        placed: Sequence[Sequence[Placed]] = self.auto.carry(
            marks.boundaries, fitting, reference=reference
        )
        return {
            demo.index: carried_marks(steps, num_frames=demo.num_frames, names=marks.names)
            for demo, steps in zip(fitting, placed, strict=True)
            if demo.index in free
        }

    def check(self, marks: Mapping[int, Marks]) -> None:
        """Refuse an annotation of other demonstrations under the same numbers."""
        for number, one in marks.items():
            demo = self.demos.get(number)
            if demo is not None and demo.num_frames != one.num_frames:
                raise BadInput(
                    f"demonstration {number} of {self.task.name!r} has {demo.num_frames} frames, "
                    f"its annotation {one.num_frames}; annotate these demonstrations into another "
                    "file, or remove the episodes of this one"
                )

    def _score(self, episode: int) -> np.ndarray:
        if episode not in self._scores:
            self._scores[episode] = self.auto.score(self.demos[episode])
        return self._scores[episode]


def _untouched_by_people(marks: Marks | None) -> bool:
    return marks is None or (marks.state != "verified" and not marks.edited)


def _rounded(values: np.ndarray | None, demo: Demo) -> list[float]:
    """As a share of the greatest value; nothing there is a line at 0."""
    if values is None:
        return [0.0] * demo.num_frames
    greatest = max(float(np.max(values)), 1e-9)
    return [round(float(one) / greatest, 3) for one in values]
