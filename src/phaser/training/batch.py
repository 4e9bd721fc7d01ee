"""What a policy is trained on: a batch of frames with the actions that follow them."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Batch:
    """Frames as tensors. `inputs` is whatever the policy's `frame_inputs` made of the images."""

    inputs: dict[str, Tensor]
    states: Float[Tensor, "batch state"]
    language: Float[Tensor, "batch language"]
    actions: Float[Tensor, "batch chunk action"]
    valid: Bool[Tensor, "batch chunk"]
    """False where the chunk runs past the end of its demonstration."""

    def __len__(self) -> int:
        return len(self.states)

    def first(self, count: int) -> Batch:
        """The first rows, as views."""
        return Batch(
            inputs={name: rows[:count] for name, rows in self.inputs.items()},
            states=self.states[:count],
            language=self.language[:count],
            actions=self.actions[:count],
            valid=self.valid[:count],
        )
