"""Clips of a cell's rollouts, written while the cell is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from phaser.core.suite import Suite
from phaser.evaluation.clips import (
    STEPS_PER_PICTURE,
    Clip,
    clip_file,
    read_clips,
    upright,
    write_clip,
    write_clips,
)
from phaser.evaluation.messages import Film, Job
from phaser.evaluation.rollouts import Episode
from phaser.experiments.traces import Traces


@dataclass(kw_only=True, eq=False)
class Filming:
    """Films the first rollouts of every task in the folder of one cell."""

    folder: Path
    suite: Suite
    traces: Traces
    writes: bool = True
    """True for the process that lists the clips; each process writes those of its own rollouts."""
    _clips: list[Clip] = field(default_factory=list)

    def go_on(self, learnt: Sequence[str]) -> None:
        """Take up the clips of stages that are not measured again."""
        self._clips = [one for one in read_clips(self.folder) if one.after_task in learnt]

    def jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """The same jobs, of which the first of each task ask for pictures."""
        seen: dict[str, int] = {}
        asked = []
        for job in jobs:
            number = seen[job.task.name] = seen.get(job.task.name, 0) + 1
            wanted = number <= self.traces.clips_per_task
            asked.append(replace(job, film_every=STEPS_PER_PICTURE) if wanted else job)
        return asked

    def keep(self, after: str, after_index: int, episode: Episode, film: Film) -> None:
        """Write the clip of an episode."""
        clip = self._clip(after, after_index, episode)
        write_clip(self.folder / clip.file, upright(film, self.suite.contract.orientation))

    def write(self, after: str, after_index: int, episodes: Sequence[Episode]) -> None:
        """List the clips of a stage, when all processes have written theirs."""
        if not self.traces.clips_per_task or not self.writes:
            return
        clips = [self._clip(after, after_index, episode) for episode in episodes]
        there = [one for one in clips if (self.folder / one.file).exists()]
        self._clips += sorted(there, key=lambda one: (one.task_index, one.env_seed))
        write_clips(self.folder, self._clips)

    def _clip(self, after: str, after_index: int, episode: Episode) -> Clip:
        task_index = [task.name for task in self.suite.tasks()].index(episode.task)
        return Clip(
            file=clip_file(after_index, after, task_index, episode.task, episode.env_seed),
            after_task=after,
            after_index=after_index,
            task=episode.task,
            task_index=task_index,
            env_seed=episode.env_seed,
            success=episode.success,
            steps=episode.steps,
        )
