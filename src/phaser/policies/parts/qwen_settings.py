"""Settings that the two starVLA backbones share. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from phaser.core.errors import BadInput
from phaser.policies.parts.backbone_settings import BackboneSettings
from phaser.policies.parts.prompts import STARVLA
from phaser.policies.parts.qwen_sizes import SIZES
from phaser.policies.parts.scaling import Scaling
from phaser.policies.parts.sizes import QwenSize

MIN_MAX = Scaling(rule="min-max")


@dataclass(frozen=True, kw_only=True, slots=True)
class QwenSettings(BackboneSettings):
    """Qwen2.5-VL with LoRA; the defaults are starVLA's recipe for LIBERO."""

    sizes: ClassVar[Mapping[str, QwenSize]] = SIZES
    betas: ClassVar[tuple[float, float]] = (0.9, 0.95)

    prompt: str = STARVLA
    """The text, with {instruction} in it."""
    scaling: Scaling = MIN_MAX

    def __post_init__(self) -> None:
        # A dataclass with slots is made anew, so that super() alone would name the old one.
        BackboneSettings.__post_init__(self)
        if "{instruction}" not in self.prompt:
            raise BadInput(f"prompt {self.prompt!r}; expected a text with {{instruction}} in it")

    @property
    def shape(self) -> QwenSize:
        return SIZES[self.size]
