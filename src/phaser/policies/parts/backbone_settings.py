"""Settings that all backbones share. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from phaser.core.errors import UnknownName
from phaser.core.ranges import AMOUNT, COUNT, check_ranges
from phaser.policies.loading.weights import Weights
from phaser.policies.lora import Lora
from phaser.policies.parts.compute import Compute
from phaser.policies.parts.image_form import ImageForm
from phaser.policies.parts.scaling import Scaling


@dataclass(frozen=True, kw_only=True, slots=True)
class BackboneSettings:
    """A large frozen base with LoRA and an action head."""

    sizes: ClassVar[Mapping[str, Any]] = {}
    """Shapes of the network by name."""
    betas: ClassVar[tuple[float, float]] = (0.9, 0.999)
    """AdamW's, as the published recipe has them."""

    size: Literal["full", "small", "tiny"] = "full"
    """"full": as published. "small" reads word pieces, "tiny" bytes; both run on a CPU."""
    chunk_length: int = 8
    """Actions that the policy plans at once."""
    num_cameras: int = 2
    """Cameras that are read: the suite's first ones."""
    images: ImageForm = field(default_factory=ImageForm)
    scaling: Scaling = field(default_factory=Scaling)
    lora: Lora | None = field(default_factory=Lora)
    """None: train the whole base."""
    weights: Weights = field(default_factory=Weights)
    compute: Compute = field(default_factory=Compute)
    base_learning_rate_scale: float = 1.0
    """Multiplies the learning rate of the adapters."""
    head_learning_rate_scale: float = 1.0
    """Multiplies the learning rate of the head and of projectors."""

    def __post_init__(self) -> None:
        if self.size not in self.sizes:
            raise UnknownName("size of a backbone", self.size, self.sizes)
        check_ranges(
            self,
            chunk_length=COUNT,
            num_cameras=COUNT,
            base_learning_rate_scale=AMOUNT,
            head_learning_rate_scale=AMOUNT,
        )

    def front_end(self, contract: object) -> None:
        """None: the vision towers are adapted, so nothing of what they see can be cached."""
