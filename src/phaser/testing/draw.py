"""Check a rule that draws frames: from memory only, by weights that sum to one, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import FrameRef
from phaser.core.memory import Memory
from phaser.core.ports import Draw, Sampler, VirtualStep
from phaser.core.streams import Streams
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.testing.made_up import made_up_task
from phaser.testing.verdict import require

COUNT = 32


def _by_frame(refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
    return np.array([0.1 + 0.01 * ref.frame for ref in refs])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MadeUpProbe:
    """A policy that is asked about frames, without a policy (`core.ports.Probe`)."""

    losses: Callable[[Sequence[FrameRef]], Float[np.ndarray, "count"]] = _by_frame
    increases: Callable[[Sequence[FrameRef]], Float[np.ndarray, "count"]] = _by_frame

    num_steps: int = 100

    def __call__(self, refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
        return self.losses(refs)

    def interference(
        self,
        refs: Sequence[FrameRef],
        *,
        step: int,
        learning_rate: float,
        variant: VirtualStep = "virtual",
    ) -> Float[np.ndarray, "count"]:
        return self.increases(refs)


def check_draw(draw: Draw) -> None:
    """Draw for a made-up third task from a memory of two, and from an empty memory."""
    require(
        isinstance(draw, Draw), draw, "lacks part of the port: inherit from phaser.core.ports.Draw"
    )
    require(
        _sampler(draw, Memory()).next(COUNT, 0) == [],
        draw,
        "drew frames from an empty memory, expected none",
    )
    memory = _memory()
    sampler = _sampler(draw, memory)
    require(
        isinstance(sampler, Sampler),
        draw,
        "for_task gave no sampler; inherit from phaser.core.ports.Sampler",
    )
    drawn = _steps(sampler, 8)[7]
    stored = {frame for bucket in memory.buckets for frame in bucket.frames}
    require(set(drawn) <= stored, draw, "drew frames that the memory does not hold")
    require(
        len(drawn) in (0, COUNT), draw, f"drew {len(drawn)} frames, expected {COUNT} (or never any)"
    )
    if drawn:
        _check_weights(draw, sampler.weights(), len(memory.buckets))
    _check_steps(draw, memory, sampler)


def _check_weights(draw: Draw, weights: Float[np.ndarray, "buckets"], num_buckets: int) -> None:
    require(
        weights.shape == (num_buckets,),
        draw,
        f"weights of shape {weights.shape} for {num_buckets} buckets",
    )
    require(
        bool(np.isfinite(weights).all() and (weights >= 0).all() and abs(weights.sum() - 1) < 1e-6),
        draw,
        f"weights {weights}, expected probabilities that sum to 1",
    )


def _check_steps(draw: Draw, memory: Memory, sampler: Sampler) -> None:
    """A step's frames must not depend on which steps were asked for before: resuming needs that.

    A sampler that asks the policy may depend on the answers, which a checkpoint holds.
    """
    forward = _steps(sampler, 4)
    fresh = _sampler(draw, memory)
    if sampler.measured is not None and fresh.measured is not None:
        fresh.measured.restore(*sampler.measured.arrays())
    backward = [fresh.next(COUNT, step) for step in reversed(range(4))][::-1]
    require(forward == backward, draw, "the frames of a step depend on earlier steps")
    require(
        not forward[0] or forward[0] != forward[1],
        draw,
        "drew the same frames in two steps; use stream.at_step(step)",
    )


def _steps(sampler: Sampler, num_steps: int) -> list[Sequence[FrameRef]]:
    """What the first steps of a task rehearse, in their order."""
    drawn = []
    for step in range(num_steps):
        drawn.append(sampler.next(COUNT, step))
        sampler.after_step(step)
    return drawn


def _sampler(draw: Draw, memory: Memory) -> Sampler:
    task = made_up_task("pour")
    return draw.for_task(memory, task, Streams(0).named("draw", "pour"), MadeUpProbe())


def _memory() -> Memory:
    memory = Memory()
    for name in ("lift", "push"):
        stream = Streams(0).named("keep", name)
        memory = memory.with_buckets(PhaseBuckets().select(made_up_task(name), 20, stream))
    return memory
