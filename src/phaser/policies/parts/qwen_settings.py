"""Settings that the two starVLA backbones share. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from phaser.core.errors import BadInput, UnknownName
from phaser.policies.loading.weights import Weights
from phaser.policies.lora import Lora
from phaser.policies.parts.compute import Compute
from phaser.policies.parts.image_form import ImageForm
from phaser.policies.parts.prompts import STARVLA
from phaser.policies.parts.qwen_sizes import SIZES
from phaser.policies.parts.scaling import Scaling
from phaser.policies.parts.sizes import QwenSize

MIN_MAX = Scaling(rule="min-max")


@dataclass(frozen=True, kw_only=True, slots=True)
class QwenSettings:
    """Qwen2.5-VL with LoRA; the defaults are starVLA's recipe for LIBERO."""

    size: Literal["full", "small", "tiny"] = "full"
    chunk_length: int = 8
    num_cameras: int = 2
    """Cameras that are read: the suite's first ones."""
    prompt: str = STARVLA
    """The text, with {instruction} in it."""
    images: ImageForm = field(default_factory=ImageForm)
    scaling: Scaling = MIN_MAX
    lora: Lora | None = field(default_factory=Lora)
    """None: train the whole base."""
    weights: Weights = field(default_factory=Weights)
    compute: Compute = field(default_factory=Compute)
    base_learning_rate_scale: float = 1.0
    """Multiplies the learning rate of the adapters; 0.4 of 2.5e-5 is starVLA's."""
    head_learning_rate_scale: float = 1.0
    """Multiplies the learning rate of the head; 4 times 2.5e-5 is starVLA's."""

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise UnknownName("size of a Qwen backbone", self.size, SIZES)
        if min(self.chunk_length, self.num_cameras) < 1:
            raise BadInput(
                f"chunk_length {self.chunk_length}, num_cameras {self.num_cameras}; expected both "
                "at least 1"
            )
        if "{instruction}" not in self.prompt:
            raise BadInput(f"prompt {self.prompt!r}; expected a text with {{instruction}} in it")

    @property
    def shape(self) -> QwenSize:
        return SIZES[self.size]

    def front_end(self, contract: object) -> None:
        """None: the vision tower is adapted, so nothing of what it sees can be cached."""
