"""Agreement of two annotations, task by task: `stage_info.json` against `stage_info.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phaser.core.errors import BadInput
from phaser.core.segmentation import Segmentation
from phaser.phases.agreement import Agreement, agreement
from phaser.phases.stage_info import TaskStages
from phaser.phases.transfer import by_ratio


@dataclass(frozen=True, kw_only=True, slots=True)
class StageAgreement:
    """Agreement on each task that both annotate, over all of them, and what was left out."""

    tasks: dict[str, Agreement]
    overall: Agreement
    only_found: tuple[str, ...]
    only_reference: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "overall": self.overall.to_json(),
            "tasks": {name: one.to_json() for name, one in self.tasks.items()},
            "only_found": list(self.only_found),
            "only_reference": list(self.only_reference),
        }


def stage_agreement(
    found: Mapping[str, TaskStages],
    reference: Mapping[str, TaskStages],
    *,
    tolerance: int = 5,
    nominal_frames: int = 100,
) -> StageAgreement:
    """Episode by episode where either side gives steps; else one demonstration of nominal length.

    With the default length of 100 frames, a tolerance between ratios is one in percent.
    """
    shared = [name for name in reference if name in found]
    if not shared:
        raise BadInput(
            f"no task in common: {sorted(found)[:5]} and {sorted(reference)[:5]}; "
            "compare annotations of the same tasks"
        )
    pairs = {name: _pairs(found[name], reference[name], nominal_frames) for name in shared}
    return StageAgreement(
        tasks={name: agreement(part, tolerance=tolerance) for name, part in pairs.items()},
        overall=agreement([pair for part in pairs.values() for pair in part], tolerance=tolerance),
        only_found=tuple(name for name in found if name not in reference),
        only_reference=tuple(name for name in reference if name not in found),
    )


def _pairs(
    found: TaskStages, reference: TaskStages, nominal_frames: int
) -> list[tuple[Segmentation, Segmentation]]:
    steps_found = {one.episode: one for one in found.episodes}
    steps_true = {one.episode: one for one in reference.episodes}
    if steps_found and steps_true:
        episodes = sorted(steps_found.keys() & steps_true.keys())
        if not episodes:
            raise BadInput("the two annotations hold steps of different episodes of a task")
    else:
        episodes = sorted(steps_found or steps_true)
    if not episodes:
        return [(_by_ratio(found, nominal_frames), _by_ratio(reference, nominal_frames))]
    pairs = []
    for episode in episodes:
        known = steps_found.get(episode) or steps_true[episode]
        pairs.append(
            (
                _of_episode(found, episode, known.num_frames),
                _of_episode(reference, episode, known.num_frames),
            )
        )
    return pairs


def _of_episode(stages: TaskStages, episode: int, num_frames: int) -> Segmentation:
    for one in stages.episodes:
        if one.episode == episode:
            return one.segmentation(stages.names)
    return _by_ratio(stages, num_frames)


def _by_ratio(stages: TaskStages, num_frames: int) -> Segmentation:
    ratios = [phase.start_ratio for phase in stages.phases[1:]]
    steps = by_ratio(ratios, num_frames=num_frames, min_phase_frames=1)
    return Segmentation.from_boundaries(steps, num_frames=num_frames, labels=stages.names)
