"""How much a task leaves behind, in frames, in frames per phase or in encoded bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.memory import Bucket, PreparedTask
from phaser.core.streams import Stream
from phaser.memory.byte_budget import within_bytes
from phaser.memory.frames import frames_of_phase
from phaser.memory.nothing import Nothing
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.methods.method import Method


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """One way of counting; none of them means the number that the method itself carries."""

    frames: int | None = None
    frames_per_phase: int | None = None
    num_bytes: int | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in self.named().items() if value is not None}
        if len(given) > 1:
            raise BadInput(f"several budgets: {given}; give one of {', '.join(self.named())}")
        for name, value in given.items():
            if value < 1:
                raise BadInput(f"{name} {value}; expected at least 1")

    def named(self) -> dict[str, int | None]:
        """By the names that a user gives them."""
        return {
            "budget": self.frames,
            "frames_per_phase": self.frames_per_phase,
            "budget_bytes": self.num_bytes,
        }

    def __str__(self) -> str:
        given = [f"{name}={value}" for name, value in self.named().items() if value is not None]
        return given[0] if given else "the method's own"

    def select(
        self,
        method: Method,
        task: PreparedTask,
        *,
        stream: Stream,
        size_of: Callable[[FrameRef], int],
    ) -> list[Bucket]:
        """The frames that the method keeps of this task within the budget."""

        def keep(frames: int) -> list[Bucket]:
            return method.with_budget(frames).keep.select(task, stream)

        if self.num_bytes is not None and not isinstance(method.keep, Nothing):
            fewest, most = bounds(method, task)
            try:
                return within_bytes(self.num_bytes, keep, size_of, most, least=fewest)
            except BadInput as error:
                raise BadInput(f"task {task.task.name!r}: {error}") from error
        if self.frames_per_phase is not None:
            return keep(self.frames_per_phase * len(task.labels))
        return keep(method.keep.frames_per_task if self.frames is None else self.frames)


def bounds(method: Method, task: PreparedTask) -> tuple[int, int]:
    """The fewest and the most frames that the method can keep of this task."""
    rule = method.keep
    if not isinstance(rule, PhaseBuckets):
        return 1, sum(demo.num_frames for demo in task.demos)
    phases = [phase for phase in range(len(task.labels)) if phase != rule.zero_phase]
    candidates = [frames_of_phase(task, phase, stride=rule.stride) for phase in phases]
    return max(1, len(phases)), sum(len(frames) for demo in candidates for frames in demo)
