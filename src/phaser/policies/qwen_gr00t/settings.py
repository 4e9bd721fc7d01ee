"""Settings of QwenGR00T. Importing them needs neither torch nor transformers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from phaser.core.errors import BadInput
from phaser.core.ranges import COUNT, Range, check_ranges
from phaser.policies.parts.qwen_settings import QwenSettings
from phaser.policies.parts.sizes import DitSize, FlowSize

if TYPE_CHECKING:
    from phaser.core.contract import Contract
    from phaser.core.streams import Stream
    from phaser.policies.qwen_gr00t.policy import QwenGr00tPolicy

HEADS = {
    "full": FlowSize(),
    "small": FlowSize(
        dit=DitSize(num_heads=3, head_width=32, depth=4, output_width=96),
        hidden_width=96,
        num_future_tokens=8,
        max_chunk_length=32,
    ),
    "tiny": FlowSize(
        dit=DitSize(num_heads=2, head_width=16, depth=2, output_width=32),
        hidden_width=32,
        num_future_tokens=4,
        max_chunk_length=16,
    ),
}
"""The published head, and smaller ones for the smaller backbones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QwenGr00t(QwenSettings):
    """QwenGR00T with LoRA; the defaults are starVLA's recipe for LIBERO."""

    use_state: bool = False
    """Give the robot's state to the head as one token. Off in the LIBERO recipe."""
    interleaved: bool = True
    """Every second block of the head attends to action tokens only; false for old checkpoints."""
    head_dropout: float = 0.2
    """Share of the head's activations that a training step leaves out."""
    noise_repeats: int = 8
    """Draws of noise and time for each sample of a training step."""
    euler_steps: int = 4
    """Steps from noise to action."""

    def __post_init__(self) -> None:
        # A dataclass with slots is made anew, so that super() alone would name the old one.
        QwenSettings.__post_init__(self)
        check_ranges(
            self,
            head_dropout=Range(low=0, high=1, without_high=True),
            noise_repeats=COUNT,
            euler_steps=COUNT,
        )
        if self.chunk_length > HEADS[self.size].max_chunk_length:
            raise BadInput(
                f"chunk_length {self.chunk_length}; the {self.size} head has places for "
                f"{HEADS[self.size].max_chunk_length} actions"
            )

    def build(self, contract: Contract, stream: Stream) -> QwenGr00tPolicy:
        """The policy for a suite's observations; the stream decides all fresh weights."""
        from phaser.policies.qwen_gr00t.policy import QwenGr00tPolicy

        return QwenGr00tPolicy(self, contract, stream)
