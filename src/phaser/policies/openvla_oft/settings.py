"""Settings of OpenVLA-OFT. Importing them needs neither torch nor transformers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from phaser.policies.parts.backbone_settings import BackboneSettings
from phaser.policies.parts.colour import ColourChanges
from phaser.policies.parts.image_form import ImageForm
from phaser.policies.parts.sizes import (
    DINOV2,
    NUM_PIECES,
    SIGLIP,
    SMALL_VOCABULARY,
    LlamaSize,
    Tokens,
    TowerSize,
)

if TYPE_CHECKING:
    from phaser.core.contract import Contract
    from phaser.core.streams import Stream
    from phaser.policies.openvla_oft.policy import OpenVlaOftPolicy


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenVlaSize:
    """The shape of the whole network; the defaults are the published 7B model's."""

    featurizer: TowerSize = DINOV2
    fused_featurizer: TowerSize = SIGLIP
    language: LlamaSize = field(default_factory=LlamaSize)
    head_width: int = 4096
    padding_id: int = 32000
    tokens: Tokens = "checkpoint"


def _small(
    width: int, depth: int, image_size: int, language: LlamaSize, tokens: Tokens
) -> OpenVlaSize:
    plain = TowerSize(
        width=width, depth=depth, mlp_width=2 * width, num_heads=4, image_size=image_size
    )
    return OpenVlaSize(
        featurizer=replace(plain, num_registers=4, class_token=True, layer_scale=0.1),
        fused_featurizer=plain,
        language=language,
        head_width=language.width,
        padding_id=256 if tokens == "bytes" else NUM_PIECES,
        tokens=tokens,
    )


SIZES = {
    "full": OpenVlaSize(),
    "small": _small(
        96,
        4,
        84,
        LlamaSize(vocabulary=SMALL_VOCABULARY, width=128, mlp_width=384, depth=4, num_heads=4),
        "word-pieces",
    ),
    "tiny": _small(
        32,
        3,
        28,
        LlamaSize(vocabulary=320, width=48, mlp_width=96, depth=2, num_heads=4),
        "bytes",
    ),
}
"""The published size, one of about 4 M weights in use to learn with on a CPU, one for tests."""


RECIPE_IMAGES = ImageForm(resize="lanczos", jpeg_quality=95, crop_area=0.9)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenVlaOft(BackboneSettings):
    """OpenVLA-OFT with LoRA; the defaults are the LIBERO recipe."""

    sizes: ClassVar[Mapping[str, OpenVlaSize]] = SIZES

    use_state: bool = True
    """Give the robot's state as one token after the images."""
    film: bool = False
    """Let the instruction scale and shift the features of both towers. Off in the LIBERO recipe."""
    images: ImageForm = RECIPE_IMAGES
    colour: ColourChanges | None = field(default_factory=ColourChanges)
    """Changes of colour in training with augmentation."""

    @property
    def shape(self) -> OpenVlaSize:
        return SIZES[self.size]

    def build(self, contract: Contract, stream: Stream) -> OpenVlaOftPolicy:
        """The policy for a suite's observations; the stream decides all fresh weights."""
        from phaser.policies.openvla_oft.policy import OpenVlaOftPolicy

        return OpenVlaOftPolicy(self, contract, stream)
