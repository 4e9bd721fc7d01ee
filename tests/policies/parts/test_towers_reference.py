"""Both towers give what the transformers library's DINOv2 and SigLIP give with the same weights."""

import pytest
import torch

from phaser.policies.lora import BACKBONES_MISSING
from phaser.policies.parts.sizes import TowerSize
from phaser.policies.parts.vision_transformer import VisionTransformer

transformers = pytest.importorskip("transformers", reason=BACKBONES_MISSING)

SHAPE = {"width": 24, "depth": 3, "num_heads": 3, "mlp_width": 48, "image_size": 28}
CONFIG = {
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "image_size": 28,
    "patch_size": 14,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-6,
}


def drawn(tower):
    """A tower whose every weight matters."""
    torch.manual_seed(0)
    for weight in tower.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return tower.eval()


def joined(prefix, weights, kind):
    """Query, key and value of our joint layer, by the reference's names."""
    names = [f"{prefix}.{name}.{kind}" for name in ("q_proj", "k_proj", "v_proj")]
    return dict(zip(names, weights.chunk(3), strict=True))


@torch.no_grad()
def test_the_first_tower_is_dinov2_with_registers():
    tower = drawn(
        VisionTransformer(TowerSize(**SHAPE, num_registers=4, class_token=True, layer_scale=0.1))
    )
    config = transformers.Dinov2WithRegistersConfig(**CONFIG, mlp_ratio=2, num_register_tokens=4)
    reference = transformers.Dinov2WithRegistersModel(config).eval()
    own, found = tower.state_dict(), {}
    # Positions are added to patches only, so that of the class token is zero.
    zero = torch.zeros(1, 1, 24)
    found["embeddings.position_embeddings"] = torch.cat([zero, own["pos_embed"]], dim=1)
    found["embeddings.cls_token"] = own["cls_token"]
    found["embeddings.register_tokens"] = own["reg_token"]
    found["embeddings.mask_token"] = torch.zeros(1, 24)
    for kind in ("weight", "bias"):
        found[f"embeddings.patch_embeddings.projection.{kind}"] = own[f"patch_embed.proj.{kind}"]
        found[f"layernorm.{kind}"] = own[f"norm.{kind}"]
    for k in range(3):
        here, there = f"blocks.{k}", f"encoder.layer.{k}"
        for kind in ("weight", "bias"):
            found |= joined(f"{there}.attention", own[f"{here}.attn.qkv.{kind}"], kind)
            pairs = {"attn.proj": "attention.o_proj", "mlp.fc1": "mlp.fc1"}
            pairs |= {"mlp.fc2": "mlp.fc2", "norm1": "norm1", "norm2": "norm2"}
            for ours, theirs in pairs.items():
                found[f"{there}.{theirs}.{kind}"] = own[f"{here}.{ours}.{kind}"]
        for number in (1, 2):
            scale = own[f"{here}.ls{number}.scale_factor"]
            found[f"{there}.layer_scale{number}.lambda1"] = scale
    reference.load_state_dict(found)
    pixels = torch.randn(2, 3, 28, 28)
    expected = reference(pixels, output_hidden_states=True).hidden_states[-2][:, 5:]
    torch.testing.assert_close(tower(pixels), expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_the_second_tower_is_siglip():
    tower = drawn(VisionTransformer(TowerSize(**SHAPE)))
    config = transformers.SiglipVisionConfig(**CONFIG, intermediate_size=48)
    reference = transformers.SiglipVisionModel(config).eval()
    own = tower.state_dict()
    found = dict(reference.state_dict())
    root = next(name for name in found if name.endswith("patch_embedding.weight"))
    root = root.removesuffix("embeddings.patch_embedding.weight")
    found[f"{root}embeddings.position_embedding.weight"] = own["pos_embed"][0]
    for kind in ("weight", "bias"):
        found[f"{root}embeddings.patch_embedding.{kind}"] = own[f"patch_embed.proj.{kind}"]
    for k in range(3):
        here, there = f"blocks.{k}", f"{root}encoder.layers.{k}"
        for kind in ("weight", "bias"):
            found |= joined(f"{there}.self_attn", own[f"{here}.attn.qkv.{kind}"], kind)
            pairs = {"attn.proj": "self_attn.out_proj", "mlp.fc1": "mlp.fc1", "mlp.fc2": "mlp.fc2"}
            pairs |= {"norm1": "layer_norm1", "norm2": "layer_norm2"}
            for ours, theirs in pairs.items():
                found[f"{there}.{theirs}.{kind}"] = own[f"{here}.{ours}.{kind}"]
    reference.load_state_dict(found)
    pixels = torch.randn(2, 3, 28, 28)
    expected = reference(pixels, output_hidden_states=True).hidden_states[-2]
    torch.testing.assert_close(tower(pixels), expected, rtol=1e-5, atol=1e-5)
