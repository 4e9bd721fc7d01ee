"""A recipe in numbers: what is trained on what, for how long, and how it is judged."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.errors import BadInput


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """A stream of tasks; the defaults are the paper's on LIBERO."""

    num_tasks: int = 10
    steps_per_task: int = 10_000
    current_per_device: int = 2
    """Samples of the task that is being learnt, in each process's batch."""
    rehearsed_per_device: int = 2
    frames_per_task: int = 1000
    """The memory's budget for each task."""
    final_rollouts: int = 50
    """Rollouts of each task after the last one was learnt."""
    learnt_rollouts: int = 50
    """Rollouts of each task when it was just learnt, for NBT."""
    step_limit: int = 300
    """Steps of a rollout at most."""
    state_size: int = 8
    action_size: int = 7
    image_size: int = 256
    """Height and width of an image as the suite gives it."""
    prompt_tokens: int = 40
    """Tokens of text in a sequence; an assumption, as it depends on tokenizer and instruction."""

    def __post_init__(self) -> None:
        counts = (self.num_tasks, self.steps_per_task, self.current_per_device, self.step_limit)
        if min(counts) < 1 or min(self.rehearsed_per_device, self.frames_per_task) < 0:
            raise BadInput(f"{self}; expected counts of at least 1")

    @property
    def rows_per_device(self) -> int:
        return self.current_per_device + self.rehearsed_per_device

    @property
    def num_steps(self) -> int:
        return self.num_tasks * self.steps_per_task

    @property
    def num_rollouts(self) -> int:
        """Rollouts for the final success rate and for NBT; the last task's are both."""
        earlier = self.num_tasks - 1
        return self.num_tasks * self.final_rollouts + earlier * self.learnt_rollouts
