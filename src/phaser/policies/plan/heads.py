"""The layers of the action heads, which are trained fully and in float32."""

from __future__ import annotations

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
    size = HEADS[settings.size]
    width, repeats = size.dit.width, settings.noise_repeats
    tokens = repeats * (size.num_future_tokens + settings.chunk_length + settings.use_state)
    chunk = repeats * settings.chunk_length
    fed = repeats * settings.use_state

    def trained(inputs: int, outputs: int, count: int, shares: bool = False) -> Linear:
        return Linear(
            inputs=inputs, outputs=outputs, tokens=count, kind="trained", shares_input=shares
        )

    layers: list[Layer] = []
    for number in range(size.dit.depth):
        across = size.dit.attends_to_backbone(number)
        read = settings.shape.text.width if across else width
        keys = repeats * context if across else tokens
        layers += [
            trained(width, width, tokens),
            # The context is kept once for all blocks.
            trained(read, width, keys, number > 0 or not across),
            trained(read, width, keys, True),
            trained(width, width, tokens),
            trained(width, 2 * width, repeats),
            trained(width, 4 * width, tokens),
            trained(4 * width, width, tokens),
            Attention(
                queries=tokens // repeats,
                keys=keys // repeats,
                width=width,
                count=repeats,
                bytes_per_number=SINGLE,
            ),
            # Two norms, their scaling, the activation and the dropout masks.
            Rest(numbers=tokens * 14 * width),
        ]
    layers += [
        trained(2 * NUM_FREQUENCIES, width, repeats),
        trained(width, width, repeats),
        trained(width, 2 * width, repeats),
        trained(width, size.dit.output_width, tokens),
        trained(recipe.action_size, width, chunk),
        trained(2 * width, width, chunk),
        trained(width, width, chunk),
        trained(size.dit.output_width, size.hidden_width, tokens),
        trained(size.hidden_width, recipe.action_size, tokens),
        Rest(weights=(size.num_future_tokens + size.max_chunk_length) * width, is_trained=True),
    ]
    kind = "trained" if settings.use_state else "first"
    sizes = ((recipe.state_size, size.hidden_width), (size.hidden_width, width))
    layers += [Linear(inputs=a, outputs=b, tokens=fed, kind=kind) for a, b in sizes]
    return layers
