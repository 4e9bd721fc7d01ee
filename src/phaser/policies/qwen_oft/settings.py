"""Settings of QwenOFT. Importing them needs neither torch nor transformers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from phaser.policies.parts.qwen_settings import QwenSettings

if TYPE_CHECKING:
    from phaser.core.contract import Contract
    from phaser.core.streams import Stream
    from phaser.policies.qwen_oft.policy import QwenOftPolicy


@dataclass(frozen=True, kw_only=True, slots=True)
class QwenOft(QwenSettings):
    """QwenOFT with LoRA; the defaults are starVLA's recipe for LIBERO."""

    @property
    def head_width(self) -> int:
        """Width inside the head: twice that of a token."""
        return 2 * self.shape.text.width

    def build(self, contract: Contract, stream: Stream) -> QwenOftPolicy:
        """The policy for a suite's observations; the stream decides all fresh weights."""
        from phaser.policies.qwen_oft.policy import QwenOftPolicy

        return QwenOftPolicy(self, contract, stream)
