"""The networks' parts: towers drop what they should, the flow head learns a velocity."""

import numpy as np
import torch

from phaser.core.streams import Streams
from phaser.policies.parts.flow_head import FlowHead, FlowNoise
from phaser.policies.parts.sizes import DitSize, FlowSize, TowerSize
from phaser.policies.parts.vision_transformer import VisionTransformer

TOWER = TowerSize(
    width=16,
    depth=3,
    num_heads=2,
    mlp_width=32,
    num_registers=4,
    class_token=True,
    layer_scale=0.1,
    image_size=28,
)
HEAD = FlowSize(
    dit=DitSize(num_heads=2, head_width=8, depth=4, output_width=12),
    hidden_width=16,
    num_future_tokens=3,
    max_chunk_length=8,
)


def test_a_tower_gives_patches_only_and_its_last_block_does_nothing():
    torch.manual_seed(0)
    tower = VisionTransformer(TOWER)
    pixels = torch.randn(2, 3, 28, 28)
    seen = tower(pixels)
    assert seen.shape == (2, 4, 16)
    with torch.no_grad():
        for weight in tower.blocks[-1].parameters():
            weight.fill_(9.0)
    assert torch.equal(tower(pixels), seen)


def test_registers_and_class_token_are_seen_by_the_patches():
    torch.manual_seed(0)
    tower = VisionTransformer(TOWER)
    pixels = torch.randn(1, 3, 28, 28)
    seen = tower(pixels)
    with torch.no_grad():
        tower.reg_token.copy_(torch.randn(1, 4, 16))
    assert not torch.allclose(tower(pixels), seen, atol=1e-5)


def test_a_tower_has_timms_names():
    names = {name for name, _ in VisionTransformer(TOWER).named_parameters()}
    assert {
        "cls_token",
        "reg_token",
        "pos_embed",
        "patch_embed.proj.weight",
        "blocks.0.norm1.weight",
        "blocks.0.attn.qkv.weight",
        "blocks.0.attn.proj.bias",
        "blocks.0.ls1.scale_factor",
        "blocks.0.mlp.fc1.weight",
        "norm.weight",
    } <= names


def head(**more):
    torch.manual_seed(0)
    return FlowHead(HEAD, context_width=10, action_size=2, state_size=3, dropout=0.0, **more)


def test_the_head_has_the_published_names():
    names = {name for name, _ in head().named_parameters()}
    assert {
        "model.timestep_encoder.timestep_embedder.linear_1.weight",
        "model.transformer_blocks.0.norm1.linear.weight",
        "model.transformer_blocks.0.attn1.to_q.weight",
        "model.transformer_blocks.0.attn1.to_out.0.weight",
        "model.transformer_blocks.0.ff.net.0.proj.weight",
        "model.transformer_blocks.0.ff.net.2.weight",
        "model.proj_out_1.weight",
        "model.proj_out_2.weight",
        "state_encoder.layer1.weight",
        "action_encoder.layer3.weight",
        "action_decoder.layer2.weight",
        "future_tokens.weight",
        "position_embedding.weight",
    } <= names


def test_with_the_true_velocity_the_noise_ends_at_the_action():
    """A straight path has one velocity, so the Euler steps of any number meet its end."""
    flow, action = head(), torch.tensor([[[0.3, -0.4], [0.5, 0.1]]])
    start = torch.randn(1, 2, 2)
    flow._velocity = lambda *_, **__: action - start
    for num_steps in (1, 4):
        found = flow.sample(
            torch.zeros(1, 5, 10),
            torch.ones(1, 5, dtype=torch.bool),
            start=start,
            states=None,
            num_steps=num_steps,
        )
        torch.testing.assert_close(found, action)


def test_the_loss_is_the_velocitys_error_averaged_over_draws():
    flow = head()
    context, mask = torch.randn(2, 5, 10), torch.ones(2, 5, dtype=torch.bool)
    actions = torch.randn(2, 4, 2)
    noise = FlowNoise.drawn(
        Streams(0).named("n"), np.arange(2), repeats=3, shape=(4, 2), device=torch.device("cpu")
    )
    found = flow.losses(context, mask, actions=actions, states=None, noise=noise)
    expected = torch.zeros(2, 4, 2)
    for row in range(2):
        for draw in range(3):
            start, time = noise.start[row, draw], noise.time[row, draw]
            noisy = (1 - time) * start + time * actions[row]
            velocity = flow._velocity(
                noisy[None],
                context[row : row + 1],
                mask=mask[:1],
                states=None,
                time=(time * 1000).long()[None],
                keys=None,
            )
            expected[row] += (velocity[0] - (actions[row] - start)).square() / 3
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
