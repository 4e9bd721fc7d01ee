"""What the methods would cost at the size of the real backbones: an estimate, nothing is run.

Frames per step and per transition are counted (`overhead_passes`); operations of one frame are
counted on torch's meta device (`overhead_backbone` at its real sizes). Elementwise work, reading
frames and the optimiser are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.overhead_backbone import Backbone
from benchmarks.overhead_passes import Counted, Counts, counted
from benchmarks.overhead_shapes import REAL, Shape
from phaser.core.streams import Streams
from phaser.methods.method import Method
from phaser.policies.tiny.policy import TinyBatch

BATCH_SIZE = 4
"""Two current and two rehearsed frames per device, the paper's batch."""
STEPS_PER_TASK = 10_000
ASKED = ("loss", "features", "outputs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """What one frame costs, and how much is trained."""

    flops: Counts
    """Of one frame, by what is asked and direction."""
    trained_weights: int
    weights: int


def sizes() -> dict[str, Size]:
    return {name: size_of(shape) for name, shape in REAL.items()}


def size_of(shape: Shape) -> Size:
    with torch.device("meta"):
        policy = Backbone(shape)
    return Size(
        flops=flops(policy, _frame(shape)),
        trained_weights=sum(w.numel() for w in policy.parameters() if w.requires_grad),
        weights=sum(w.numel() for w in policy.parameters()),
    )


def flops(policy: nn.Module, frame: TinyBatch) -> dict[tuple[str, str], float]:
    """Operations of one frame, forward and backward; a product and a sum are two."""
    found: dict[tuple[str, str], float] = {}
    for asked in ASKED:
        with FlopCounterMode(display=False) as forward:
            answer = _asked(policy, asked, frame)
        with FlopCounterMode(display=False) as backward:
            answer.sum().backward()
        found[asked, "forward"] = forward.get_total_flops()
        found[asked, "backward"] = backward.get_total_flops()
    return found


def estimate(methods: Mapping[str, Method]) -> dict[str, Any]:
    """Per backbone and method, relative to er."""
    done = counted(methods, batch_size=BATCH_SIZE, steps_per_task=STEPS_PER_TASK)
    return {
        "batch_size": BATCH_SIZE,
        "steps_per_task": STEPS_PER_TASK,
        "backbones": [
            {
                "backbone": name,
                "weights": size.weights,
                "trained_weights": size.trained_weights,
                "step_flops": total(done["er"].per_step, size),
                "rows": [row(method, one, done["er"], size) for method, one in done.items()],
            }
            for name, size in sizes().items()
        ],
    }


def row(method: str, one: Counted, er: Counted, size: Size) -> dict[str, Any]:
    step, baseline = total(one.per_step, size), total(er.per_step, size)
    return {
        "method": method,
        "frames_per_step": {" ".join(what): count for what, count in one.per_step.items()},
        "frames_per_transition": {
            " ".join(what): count for what, count in one.per_transition.items()
        },
        "step_ratio": step / baseline,
        "transition_share": total(one.per_transition, size) / (STEPS_PER_TASK * step),
        "kept_bytes": one.kept_bytes + one.kept_per_weight * size.trained_weights,
        "peak_bytes": one.peak_per_weight * size.trained_weights,
    }


def total(counts: Counts, size: Size) -> float:
    return sum(count * size.flops[what] for what, count in counts.items())


def _asked(policy: nn.Module, asked: str, frame: TinyBatch) -> torch.Tensor:
    if asked == "loss":
        return policy(frame, Streams(0).named("noise"))
    return getattr(policy, asked)(frame)


def _frame(shape: Shape) -> TinyBatch:
    side = round(shape.patches**0.5)
    with torch.device("meta"):
        return TinyBatch(
            inputs={
                f"{camera}_coarse": torch.zeros(1, shape.patch_size, side, side)
                for camera in shape.cameras
            },
            states=torch.zeros(1, shape.state_size),
            language=torch.zeros(1, shape.text_tokens * shape.text_size),
            actions=torch.zeros(1, shape.chunk_length, shape.action_size),
            valid=torch.ones(1, shape.chunk_length, dtype=torch.bool),
            places=None,
            num_places=None,
        )
