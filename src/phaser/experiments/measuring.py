"""Measuring after a task: rollouts in the simulator, and the held-out loss of every phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from accelerate import Accelerator

from phaser.core.demonstration import Task
from phaser.core.policy import Policy
from phaser.core.streams import Streams
from phaser.evaluation.matrix import JOINT_ROW
from phaser.evaluation.messages import Job
from phaser.evaluation.rollouts import Episode, Filmed, rollouts, solved_and_tried
from phaser.evaluation.simulators import Simulators
from phaser.evaluation.throughput import Throughput
from phaser.experiments.events import Doing, Measured, Notify, RolledOut
from phaser.experiments.filming import Filming
from phaser.experiments.folder import CellFolder
from phaser.experiments.resume import Checkpoints
from phaser.experiments.run import Run
from phaser.training.frames import FrameTable
from phaser.training.learner import PolicyLearner
from phaser.training.phase_probe import HeldoutPhases, phase_loss_rows
from phaser.training.processes import from_all


@dataclass(kw_only=True, eq=False)
class Measuring:
    """Measures one policy and writes what it finds into the folder of its cell."""

    run: Run
    policy: Policy
    tasks: tuple[Task, ...]
    folder: CellFolder
    checkpoints: Checkpoints
    simulators: Simulators
    filming: Filming
    streams: Streams
    accelerator: Accelerator
    notify: Notify
    heldout: dict[str, HeldoutPhases] = field(default_factory=dict)
    """Held-out phases by task; a task whose demonstrations are gone has none."""

    def after(self, stage: str, index: int) -> list[Episode]:
        """Measure after a task, or after the joint training of all; rollouts come first."""
        counts = self._counts(stage, index)
        episodes = self._rollouts(counts, partial(self.filming.keep, stage, index))
        self.filming.write(stage, index, episodes)
        names = [task.name for task in self.tasks]
        self.folder.add_episodes(stage, index, names, episodes)
        self.notify(Doing(what="measuring held-out loss"))
        with self.checkpoints.spent.timed("probe_s"):
            self._losses(stage, index)
        return episodes

    def report(self, after: str, index: int, loss: float, episodes: Sequence[Episode]) -> None:
        """Tell what a stage of training has learnt and kept."""
        counts = solved_and_tried(episodes)
        heldout = self.folder.heldout_losses(after)
        self.notify(Measured(task=after, index=index, loss=loss, counts=counts, heldout=heldout))

    def _counts(self, stage: str, index: int) -> dict[str, int]:
        """Rollouts of each task: the task itself in full, the earlier ones as asked for."""
        settings = self.run.evaluation
        learnt = [task.name for task in self.tasks[: index + 1]]
        if stage == JOINT_ROW or index == len(self.tasks) - 1:
            return dict.fromkeys(learnt, settings.rollouts_per_task)
        return dict.fromkeys(learnt, settings.earlier_rollouts) | {
            learnt[-1]: settings.learnt_rollouts
        }

    def _rollouts(self, counts: Mapping[str, int], filmed: Filmed) -> list[Episode]:
        if not self.run.suite.has_simulator:
            return []
        spent, accelerator = self.checkpoints.spent, self.accelerator
        self.notify(Doing(what=self._beginning()))
        jobs = self.filming.jobs(self._jobs(counts))
        with spent.timed("rollout_s"):
            # Episodes do not depend on one another, so processes share them.
            episodes, throughput = rollouts(
                self.policy,
                self.run.suite,
                jobs[accelerator.process_index :: accelerator.num_processes],
                self.streams,
                simulators=self.simulators,
                finished=self._rolled_out,
                filmed=filmed,
                actions_per_look=self.run.evaluation.actions_per_look,
            )
        spent.add("rollout_s", throughput.spent.processor_s)
        spent.note(**throughput.amounts)
        return from_all(accelerator, episodes)

    def _beginning(self) -> str:
        """What happens before the first rollout ends."""
        if self.simulators.is_running:
            return "trying what is learnt"
        many = self.simulators.num_workers > 1
        return f"starting {self.simulators.num_workers} simulator process{'es' if many else ''}"

    def _jobs(self, counts: Mapping[str, int]) -> list[Job]:
        horizons = self.checkpoints.position.horizons
        return [
            Job(task=task, env_seed=env_seed, horizon=horizons[task.name])
            for task in self.tasks
            if counts.get(task.name)
            for env_seed in self.run.suite.evaluation_seeds(counts[task.name])
        ]

    def _losses(self, stage: str, index: int) -> None:
        if not self.accelerator.is_main_process:
            return
        learnt: Sequence[Task] = self.tasks if stage == JOINT_ROW else self.tasks[: index + 1]
        known = {
            place: self.heldout[task.name]
            for place, task in enumerate(learnt)
            if task.name in self.heldout
        }
        learner = PolicyLearner(
            policy=self.policy,
            frames=FrameTable({name: one.frames for name, one in self.heldout.items()}),
            fit=self.run.fit,
            streams=self.streams,
            accelerator=self.accelerator,
        )
        self.folder.write_losses(
            phase_loss_rows(known, learner.frame_losses, after=stage, after_index=index)
        )

    def _rolled_out(self, episode: Episode, throughput: Throughput) -> None:
        self.notify(
            RolledOut(
                task=episode.task,
                success=episode.success,
                episodes=throughput.episodes,
                planned=throughput.planned,
                episodes_per_s=throughput.episodes_per_s,
                seconds_left=throughput.seconds_left,
                shares=throughput.shares,
            )
        )
