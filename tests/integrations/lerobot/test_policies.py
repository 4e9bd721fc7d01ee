"""Policies of the real LeRobot behind our port: checked, trained in a stream, loaded, refused."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from phaser.cli import main
from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.policies.lerobot.settings import LeRobot
from phaser.testing.policy import MADE_UP, check_policy, made_up_samples

SMALL = "dim_model=32 n_heads=2 dim_feedforward=32 n_encoder_layers=1 n_vae_encoder_layers=1"
OPTIONS = f"{SMALL} latent_dim=4 pretrained_backbone_weights=null"
ACT = LeRobot(chunk_length=4, options=tuple(OPTIONS.split()))
DIFFUSION = LeRobot(
    type="diffusion",
    chunk_length=8,
    options=("down_dims=[16,32]", "n_groups=4", "num_train_timesteps=4", "crop_shape=[64,64]"),
)
WEIGHTS, NOISE = Streams(0).named("weights"), Streams(0).named("noise")


def require_libraries(settings: LeRobot) -> None:
    if settings.type == "diffusion":
        pytest.importorskip("diffusers", reason="needs LeRobot's own extra for Diffusion")


@pytest.mark.parametrize("settings", [ACT, DIFFUSION], ids=["act", "diffusion"])
def test_a_policy_of_lerobot_keeps_the_port(settings: LeRobot) -> None:
    require_libraries(settings)
    check_policy(settings)


def test_smolvla_keeps_the_port(tmp_path: Path) -> None:
    """LeRobot's own SmolVLA around a backbone of two layers with random weights."""
    pytest.importorskip("transformers", reason="needs LeRobot's own extra for SmolVLA")
    from tiny_vlm import write_tiny_smolvlm

    sizes = "num_vlm_layers=2 resize_imgs_with_padding=[64,64] tokenizer_max_length=8 num_steps=2"
    backbone = f"vlm_model_name={write_tiny_smolvlm(tmp_path / 'vlm')} load_vlm_weights=true"
    check_policy(
        LeRobot(
            type="smolvla",
            chunk_length=4,
            options=(*backbone.split(), *sizes.split(), "max_state_dim=16", "max_action_dim=16"),
        )
    )


def test_losses_are_lerobots_own_in_one_pass_or_one_by_one() -> None:
    import torch

    plain = replace(ACT, options=(*ACT.options, "use_vae=false", "dropout=0.0"))
    policy = plain.build(MADE_UP, WEIGHTS)
    slow = replace(plain, losses="one-by-one").build(MADE_UP, WEIGHTS)
    samples = made_up_samples(policy)
    batch = policy.train().batch(samples)
    losses = policy(batch, NOISE)
    # The last chunk is padded, over which LeRobot's versions average differently.
    whole = policy.batch(samples.first(len(samples) - 1)).inputs
    theirs, _ = policy.network(dict(whole))
    assert torch.allclose(losses[:-1].mean(), theirs, atol=1e-6)
    assert torch.allclose(losses, slow.train()(batch, NOISE), atol=1e-5)


def test_a_policy_that_lerobot_saved_acts_as_it_did(tmp_path: Path) -> None:
    """Weights, processors and statistics come from the folder that LeRobot wrote."""
    from phaser.testing.policy import _observations

    fresh = ACT.build(MADE_UP, WEIGHTS)
    folder = tmp_path / "pretrained_model"
    fresh.network.save_pretrained(folder)
    for processor in (fresh._before, fresh._after):
        processor.save_pretrained(folder)
    loaded = LeRobot(path=str(folder)).build(MADE_UP, Streams(7).named("weights"))
    assert loaded.contract["lerobot"]["type"] == "act"
    assert loaded.contract["chunk_length"] == 4
    seen = _observations(MADE_UP)
    assert np.array_equal(fresh.act(seen, [NOISE, NOISE]), loaded.act(seen, [NOISE, NOISE]))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (LeRobot(type="act2"), "LeRobot has no policy 'act2'"),
        (replace(ACT, options=("dim_mdel=32",)), "has no field 'dim_mdel'"),
        (replace(DIFFUSION, chunk_length=7), "LeRobot refuses diffusion"),
        (LeRobot(path="nowhere/at-all"), "LeRobot refuses nowhere/at-all"),
        (replace(DIFFUSION, options=(*DIFFUSION.options, "n_obs_steps=2")), "reads 2 frames"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(settings: LeRobot, said: str) -> None:
    require_libraries(settings)
    with pytest.raises(BadInput, match=said):
        settings.build(MADE_UP, WEIGHTS)


def test_a_stream_of_two_datasets_is_learnt_and_repeated_to_the_bit(
    arms: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        f"run datasets --suite.sources {arms['left_png']} {arms['right_png']} "
        "--suite.motion 0 1 2 3 4 --suite.gripper 5 --suite.absolute "
        f"--policy lerobot --policy.chunk-length 4 --policy.options {OPTIONS} "
        "--method er --budget 8 --fit.steps-per-task 4 --fit.learning-rate 1e-3 "
        "--fit.batch-size 4 --json --out"
    )
    matrices = []
    for name in ("one", "two"):
        assert main.execute([*shlex.split(words), str(tmp_path / name)]) == 0
        capsys.readouterr()
        weights = (tmp_path / name).rglob("*.safetensors")
        matrices.append({one.name: one.read_bytes() for one in sorted(weights)})
    settings = json.loads((tmp_path / "one" / "run.json").read_text())["settings"]
    assert settings["policy"]["kind"] == "lerobot"
    assert matrices[0]
    assert matrices[0] == matrices[1]
