"""The layers of each backbone, from its settings; tests hold them against the real networks."""

from __future__ import annotations

from phaser.policies.openvla_oft.settings import OpenVlaOft
from phaser.policies.parts.qwen_settings import QwenSettings
from phaser.policies.parts.sizes import FRAMES, MERGED, PATCH, LlamaSize, QwenSize, TowerSize
from phaser.policies.plan.heads import flow_head, regression_head
from phaser.policies.plan.layers import (
    HALF,
    SINGLE,
    Attention,
    Block,
    Layer,
    Linear,
    Rest,
    transformer_block,
)
from phaser.policies.plan.recipe import Recipe
from phaser.policies.qwen_gr00t.settings import QwenGr00t
from phaser.policies.qwen_oft.settings import QwenOft

Settings = OpenVlaOft | QwenGr00t | QwenOft
VISION, PROJECTOR, LANGUAGE, HEAD, STATE = (
    "vision",
    "projector",
    "language model",
    "action head",
    "state projector",
)
QWEN_WINDOW = 64
"""Patches of a window of Qwen's vision tower."""


def inventory(settings: Settings, recipe: Recipe) -> list[Block]:
    """All blocks of a backbone under a recipe."""
    if isinstance(settings, OpenVlaOft):
        return _openvla(settings, recipe)
    base = _qwen(settings, recipe)
    if isinstance(settings, QwenOft):
        text = settings.shape.text
        head = regression_head(
            inputs=text.width,
            hidden=settings.head_width,
            actions=recipe.action_size,
            chunk=settings.chunk_length,
        )
    else:
        head = flow_head(settings, recipe, context=qwen_tokens(settings, recipe))
    return [*base, Block(part=HEAD, layers=head)]


def openvla_tokens(settings: OpenVlaOft, recipe: Recipe) -> int:
    """Tokens in the language model's sequence."""
    patches = settings.num_cameras * settings.shape.featurizer.num_patches
    slots = settings.chunk_length * recipe.action_size
    return patches + settings.use_state + recipe.prompt_tokens + slots + 1


def qwen_tokens(settings: QwenSettings, recipe: Recipe) -> int:
    """Tokens in the language model's sequence; each image has a mark before and after it."""
    side = settings.shape.vision.image_size // (PATCH * MERGED)
    return settings.num_cameras * (side**2 + 2) + recipe.prompt_tokens


def _openvla(settings: OpenVlaOft, recipe: Recipe) -> list[Block]:
    shape, cameras = settings.shape, settings.num_cameras
    vision = shape.featurizer.width + shape.fused_featurizer.width
    width = shape.language.width
    patches = cameras * shape.featurizer.num_patches
    sizes = ((vision, 4 * vision), (4 * vision, width), (width, width))
    projector = [Linear(inputs=a, outputs=b, tokens=patches) for a, b in sizes]
    gelus = Rest(numbers=(4 * vision + width) * patches, bytes_per_number=HALF)
    blocks = [
        *_tower(shape.featurizer, cameras),
        *_tower(shape.fused_featurizer, cameras),
        Block(part=PROJECTOR, layers=[*projector, gelus]),
        *_llama(shape.language, openvla_tokens(settings, recipe)),
    ]
    if settings.use_state:
        layers = [
            Linear(inputs=a, outputs=width, tokens=1, kind="trained")
            for a in (recipe.state_size, width)
        ]
        blocks.append(Block(part=STATE, layers=layers))
    head = regression_head(
        inputs=width * recipe.action_size,
        hidden=shape.head_width,
        actions=recipe.action_size,
        chunk=settings.chunk_length,
    )
    return [*blocks, Block(part=HEAD, layers=head)]


def _tower(size: TowerSize, cameras: int) -> list[Block]:
    prefix = size.num_registers + size.class_token
    tokens = cameras * (size.num_patches + prefix)
    width = size.width
    embed = Linear(
        inputs=3 * size.patch_size**2,
        outputs=width,
        tokens=cameras * size.num_patches,
        kind="first",
    )
    hidden = [
        Linear(inputs=width, outputs=3 * width, tokens=tokens),
        Linear(inputs=width, outputs=width, tokens=tokens),
        Linear(inputs=width, outputs=size.mlp_width, tokens=tokens),
        Linear(inputs=size.mlp_width, outputs=width, tokens=tokens),
    ]
    sequence = size.num_patches + prefix
    attention = Attention(queries=sequence, keys=sequence, width=width, count=cameras)
    scales = 0 if size.layer_scale is None else 2 * width
    layers = [
        *transformer_block(
            width=width, tokens=tokens, attention=attention, hidden=hidden, gated=False
        ),
        Rest(weights=4 * width + scales),
    ]
    others = Rest(weights=(prefix + size.num_patches) * width + 2 * width)
    return [
        Block(part=VISION, layers=[embed, others]),
        Block(part=VISION, layers=layers, times=size.depth - 1, entering=tokens * width),
        Block(part=VISION, layers=layers, used=False),
    ]


def _llama(size: LlamaSize, tokens: int) -> list[Block]:
    width, inner = size.width, size.mlp_width
    hidden = [
        *[Linear(inputs=width, outputs=width, tokens=tokens, bias=False)] * 4,
        *[Linear(inputs=width, outputs=inner, tokens=tokens, bias=False)] * 2,
        Linear(inputs=inner, outputs=width, tokens=tokens, bias=False),
    ]
    attention = Attention(queries=tokens, keys=tokens, width=width)
    layers = [
        *transformer_block(
            width=width, tokens=tokens, attention=attention, hidden=hidden, gated=True
        ),
        Rest(weights=2 * width),
    ]
    words = Rest(weights=size.vocabulary * width)
    return [
        Block(part=LANGUAGE, layers=layers, times=size.depth, entering=tokens * width),
        Block(part=LANGUAGE, layers=[words, Rest(weights=width, numbers=tokens * width)]),
        Block(part=LANGUAGE, layers=[words], used=False),
    ]


def _qwen(settings: QwenSettings, recipe: Recipe) -> list[Block]:
    shape = settings.shape
    return [
        *_qwen_vision(shape, settings.num_cameras),
        *_qwen_text(shape, qwen_tokens(settings, recipe)),
    ]


def _qwen_vision(shape: QwenSize, cameras: int) -> list[Block]:
    size = shape.vision
    width, inner = size.width, size.mlp_width
    patches = (size.image_size // PATCH) ** 2
    tokens, merged = cameras * patches, cameras * patches // MERGED**2
    hidden = [
        Linear(inputs=width, outputs=3 * width, tokens=tokens),
        Linear(inputs=width, outputs=width, tokens=tokens),
        *[Linear(inputs=width, outputs=inner, tokens=tokens)] * 2,
        Linear(inputs=inner, outputs=width, tokens=tokens),
    ]
    embed = Linear(
        inputs=3 * FRAMES * PATCH**2, outputs=width, tokens=tokens, bias=False, kind="first"
    )
    wide = MERGED**2 * width
    merger: list[Layer] = [
        Linear(inputs=wide, outputs=wide, tokens=merged),
        Linear(inputs=wide, outputs=shape.text.width, tokens=merged),
        Rest(weights=width, numbers=tokens * width),
        Rest(numbers=wide * merged, bytes_per_number=HALF),
    ]
    whole = len(size.whole_image_blocks)
    window = min(patches, QWEN_WINDOW)
    blocks = []
    for times, keys in ((whole, patches), (size.depth - whole, window)):
        attention = Attention(queries=keys, keys=keys, width=width, count=tokens // keys)
        layers = transformer_block(
            width=width, tokens=tokens, attention=attention, hidden=hidden, gated=True
        )
        blocks.append(
            Block(
                part=VISION,
                layers=[*layers, Rest(weights=2 * width)],
                times=times,
                entering=tokens * width,
            )
        )
    return [Block(part=VISION, layers=[embed]), *blocks, Block(part=VISION, layers=merger)]


def _qwen_text(shape: QwenSize, tokens: int) -> list[Block]:
    size = shape.text
    width, inner = size.width, size.mlp_width
    keys = size.num_key_heads * size.head_width
    hidden = [
        Linear(inputs=width, outputs=width, tokens=tokens),
        *[Linear(inputs=width, outputs=keys, tokens=tokens)] * 2,
        Linear(inputs=width, outputs=width, tokens=tokens, bias=False),
        *[Linear(inputs=width, outputs=inner, tokens=tokens, bias=False)] * 2,
        Linear(inputs=inner, outputs=width, tokens=tokens, bias=False),
    ]
    attention = Attention(queries=tokens, keys=tokens, width=width)
    layers = [
        *transformer_block(
            width=width, tokens=tokens, attention=attention, hidden=hidden, gated=True
        ),
        Rest(weights=2 * width),
    ]
    end = Rest(weights=width, numbers=tokens * width, bytes_per_number=SINGLE)
    return [
        Block(part=LANGUAGE, layers=layers, times=size.depth, entering=tokens * width),
        Block(part=LANGUAGE, layers=[Rest(weights=size.vocabulary * width), end]),
    ]
