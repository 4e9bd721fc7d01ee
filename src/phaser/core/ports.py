"""The ports: what each layer asks of the next. Adapters and rules implement them by shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, UInt8

from phaser.core.demonstration import Demo, FrameRef, Task
from phaser.core.measurements import Measurements, Passes
from phaser.core.memory import Bucket, Memory, PreparedTask
from phaser.core.segmentation import Segmentation
from phaser.core.streams import Stream

VirtualStep = Literal["virtual", "snapshot"]
"""Where the gradient of a virtual step comes from: computed for it, or left by the step before."""


@runtime_checkable
class Probe(Protocol):
    """Asks the policy about stored frames, as it is now and without training it."""

    def __call__(self, refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
        """Loss of each frame, with the same noise whenever the same frames are asked for."""
        ...

    def interference(
        self,
        refs: Sequence[FrameRef],
        *,
        step: int,
        learning_rate: float,
        variant: VirtualStep = "virtual",
    ) -> Float[np.ndarray, "count"]:
        """By how much each frame's loss rises in a virtual step of plain gradient descent.

        "virtual" descends on the current task's frames of training step `step`; "snapshot" along
        the gradient that the step before left.
        """
        ...


@runtime_checkable
class Segmenter(Protocol):
    """Cuts the demonstrations of one task into the same phases each."""

    def segment(self, demos: Sequence[Demo]) -> tuple[Segmentation, ...]: ...


@runtime_checkable
class Keep(Protocol):
    """What a finished task leaves in memory."""

    @property
    def frames_per_task(self) -> int: ...

    def select(self, task: PreparedTask, stream: Stream) -> list[Bucket]: ...


@runtime_checkable
class Sampler(Protocol):
    """Draws rehearsal frames for the steps of one task."""

    def next(self, count: int, step: int) -> Sequence[FrameRef]: ...

    def weights(self) -> Float[np.ndarray, "buckets"]: ...


@runtime_checkable
class MeasuringSampler(Sampler, Protocol):
    """A sampler that asks the policy while a task is learnt; the answers are its only memory."""

    @property
    def measured(self) -> Measurements: ...

    @property
    def passes(self) -> Passes: ...

    def after_step(self, step: int) -> None:
        """A step is done and its gradient still there."""
        ...


@runtime_checkable
class Draw(Protocol):
    """What a training step rehearses; `for_task` does all work that happens once per task."""

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> Sampler: ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Observation:
    """What a policy sees at one moment."""

    images: dict[str, UInt8[np.ndarray, "height width 3"]]
    state: Float[np.ndarray, "state"]
    instruction: str


@runtime_checkable
class Policy(Protocol):
    """A policy that can be trained on frames and asked for a chunk of actions."""

    @property
    def contract(self) -> dict[str, Any]: ...

    def act(
        self, observations: Sequence[Observation], streams: Sequence[Stream]
    ) -> Float[np.ndarray, "batch chunk action"]: ...


@runtime_checkable
class Env(Protocol):
    """One simulated robot, at one initial state."""

    def reset(self, seed: int) -> Observation: ...

    def step(self, action: Float[np.ndarray, "action"]) -> bool: ...

    def observe(self) -> Observation: ...


@runtime_checkable
class Suite(Protocol):
    """A named list of tasks with demonstrations and a simulator."""

    def tasks(self) -> tuple[Task, ...]: ...

    def demos(self, task: Task, split: str) -> tuple[Demo, ...]: ...

    def make_env(self, task: Task) -> Env: ...

    def horizon(self, task: Task) -> int: ...
