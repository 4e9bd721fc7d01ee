"""Sums over a backbone's blocks: weights, operations and kept bytes of one sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaser.policies.plan.layers import HALF, Block
from phaser.policies.plan.values import Part


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """A backbone in numbers."""

    parts: tuple[Part, ...]
    adapters: int
    forward_flops: int
    backward_flops: int
    recomputed_flops: int
    """Operations that gradient checkpointing computes a second time."""
    kept: int
    """Bytes that a pass keeps for its backward pass."""
    kept_with_checkpoints: int
    """With checkpointing blocks keep their inputs, and one of them is open."""

    @property
    def learnt(self) -> int:
        """Trained weights, adapters included."""
        return sum(part.trained for part in self.parts)

    @property
    def frozen(self) -> int:
        return sum(part.parameters for part in self.parts) - self.learnt + self.adapters

    @property
    def flops(self) -> int:
        return self.forward_flops + self.backward_flops

    @property
    def flops_with_checkpoints(self) -> int:
        return self.flops + self.recomputed_flops

    @classmethod
    def of(cls, blocks: Sequence[Block], rank: int) -> Counted:
        """Count a network.

        Args:
            blocks: All of it, used or not.
            rank: Of the adapters.
        """
        used = [block for block in blocks if block.used]
        inner = [block for block in used if block.entering]
        others = sum(block.sum("kept_bytes", rank) for block in used if not block.entering)
        inputs = sum(HALF * block.times * block.entering for block in inner)
        open_block = max(
            (block.sum("kept_bytes", rank) // block.times for block in inner), default=0
        )
        return cls(
            parts=_parts(blocks, rank),
            adapters=sum(block.sum("adapters", rank) for block in used),
            forward_flops=sum(block.sum("forward_flops", rank) for block in used),
            backward_flops=sum(block.sum("backward_flops", rank) for block in used),
            recomputed_flops=sum(block.sum("forward_flops", rank) for block in inner),
            kept=sum(block.sum("kept_bytes", rank) for block in used),
            kept_with_checkpoints=others + inputs + open_block,
        )


def _parts(blocks: Sequence[Block], rank: int) -> tuple[Part, ...]:
    names = dict.fromkeys(block.part for block in blocks)
    return tuple(
        Part(
            name=name,
            parameters=sum(block.sum("parameters") for block in blocks if block.part == name),
            trained=sum(
                block.sum("trained") + (block.sum("adapters", rank) if block.used else 0)
                for block in blocks
                if block.part == name
            ),
        )
        for name in names
    )
