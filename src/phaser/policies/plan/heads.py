"""The layers of the action heads, which are trained fully and in float32."""

from __future__ import annotations

from collections.abc import Iterator

from phaser.policies.parts.sizes import NUM_FREQUENCIES
from phaser.policies.plan.layers import SINGLE, Attention, Layer, Linear, Rest
from phaser.policies.plan.recipe import Recipe
from phaser.policies.qwen_gr00t.settings import HEADS, QwenGr00t


def regression_head(*, inputs: int, hidden: int, actions: int, chunk: int) -> list[Layer]:
    """The residual MLP of both OFT backbones."""
    linear = [
        Linear(inputs=a, outputs=b, tokens=chunk, kind="trained")
        for a, b in ((inputs, hidden), (hidden, hidden), (hidden, hidden), (hidden, actions))
    ]
    norms = Rest(weights=2 * (inputs + 3 * hidden), is_trained=True)
    activations = Rest(numbers=chunk * (inputs + 6 * hidden))
    return [*linear, norms, activations]


def flow_head(settings: QwenGr00t, recipe: Recipe, *, context: int) -> list[Layer]:
    """The flow-matching transformer.

    Args:
        settings: Of QwenGR00T.
        recipe: Has the robot's sizes.
        context: Tokens of the backbone, to which the even blocks attend.
    """
    size, repeats = HEADS[settings.size], settings.noise_repeats
    width = size.dit.width
    tokens = repeats * (size.num_future_tokens + settings.chunk_length + settings.use_state)
    chunk = repeats * settings.chunk_length
    layers: list[Layer] = []
    for number in range(size.dit.depth):
        layers += _dit_block(settings, number, tokens=tokens, context=context)
    fed, kind = repeats * settings.use_state, "trained" if settings.use_state else "first"
    return [
        *layers,
        _trained(2 * NUM_FREQUENCIES, width, repeats),
        _trained(width, width, repeats),
        _trained(width, 2 * width, repeats),
        _trained(width, size.dit.output_width, tokens),
        _trained(recipe.action_size, width, chunk),
        _trained(2 * width, width, chunk),
        _trained(width, width, chunk),
        _trained(size.dit.output_width, size.hidden_width, tokens),
        _trained(size.hidden_width, recipe.action_size, tokens),
        Linear(inputs=recipe.state_size, outputs=size.hidden_width, tokens=fed, kind=kind),
        Linear(inputs=size.hidden_width, outputs=width, tokens=fed, kind=kind),
        Rest(weights=(size.num_future_tokens + size.max_chunk_length) * width, is_trained=True),
    ]


def _dit_block(settings: QwenGr00t, number: int, *, tokens: int, context: int) -> Iterator[Layer]:
    size, repeats = HEADS[settings.size].dit, settings.noise_repeats
    width, across = size.width, number % 2 == 0 or not settings.interleaved
    read = settings.shape.text.width if across else width
    keys = repeats * context if across else tokens
    yield _trained(width, width, tokens)
    # The context is kept once for all blocks.
    yield _trained(read, width, keys, shares=number > 0 or not across)
    yield _trained(read, width, keys, shares=True)
    yield _trained(width, width, tokens)
    yield _trained(width, 2 * width, repeats)
    yield _trained(width, 4 * width, tokens)
    yield _trained(4 * width, width, tokens)
    yield Attention(
        queries=tokens // repeats,
        keys=keys // repeats,
        width=width,
        count=repeats,
        bytes_per_number=SINGLE,
    )
    # Two norms, their scaling, the activation and the dropout masks.
    yield Rest(numbers=tokens * 14 * width)


def _trained(inputs: int, outputs: int, tokens: int, *, shares: bool = False) -> Linear:
    return Linear(
        inputs=inputs, outputs=outputs, tokens=tokens, kind="trained", shares_input=shares
    )
