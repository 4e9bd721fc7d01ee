"""Normalisation statistics of a stream against the real LeRobot (fact C)."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def statistics_of(folder: Path) -> Any:
    from lerobot.datasets.lerobot_dataset import LeRobotDatasetMetadata

    from phaser.integrations.lerobot.statistics import as_arrays

    return as_arrays(LeRobotDatasetMetadata("made/it", root=folder).stats)


def test_aggregated_statistics_are_those_that_lerobot_would_aggregate(
    arms: dict[str, Path],
) -> None:
    from lerobot.datasets.compute_stats import aggregate_stats

    from phaser.integrations.lerobot.statistics import aggregated

    own = [statistics_of(arms[name]) for name in ("left_png", "stiff_png", "right_png")]
    theirs, ours = aggregate_stats(own), aggregated(own)
    assert set(theirs) == set(ours)
    for feature, found in theirs.items():
        for name, value in found.items():
            assert ours[feature][name] == pytest.approx(np.asarray(value), rel=1e-5, abs=1e-6), (
                feature,
                name,
            )


def normalised_action(statistics: Any, action: Any) -> float:
    """The largest number that LeRobot's own normaliser makes of an action."""
    import torch
    from lerobot.configs.types import FeatureType, NormalizationMode, PolicyFeature
    from lerobot.processor import NormalizerProcessorStep, TransitionKey

    step = NormalizerProcessorStep(
        features={"action": PolicyFeature(type=FeatureType.ACTION, shape=(6,))},
        norm_map={FeatureType.ACTION: NormalizationMode.MEAN_STD},
        stats={"action": {name: torch.as_tensor(v) for name, v in statistics["action"].items()}},
    )
    found = step({TransitionKey.ACTION: torch.as_tensor(action)[None]})
    return float(found[TransitionKey.ACTION].abs().max())


def test_what_is_refused_is_what_lerobots_normaliser_blows_up(arms: dict[str, Path]) -> None:
    """The first dataset's gripper stood still (std 0); the second one closes it."""
    from arm_datasets import LEFT, episode

    from phaser.core.errors import BadInput
    from phaser.integrations.lerobot.statistics import in_force, refuse_blow_up

    still, moving = statistics_of(arms["stiff_png"]), statistics_of(arms["left_png"])
    closed = min(
        (frame["action"] for frame in episode(LEFT, np.random.default_rng(0))),
        key=lambda one: one[5],
    )
    modes = {"action": "MEAN_STD", "observation.state": "MEAN_STD"}
    first = in_force("first", [still], moving)
    assert normalised_action(first, closed) > 1e6
    with pytest.raises(BadInput, match="hardly varies"):
        refuse_blow_up(first, moving, modes, dataset="left")
    both = in_force("all-so-far", [still], moving)
    assert normalised_action(both, closed) < 10
    refuse_blow_up(both, moving, modes, dataset="left")


def test_the_training_script_stops_in_one_line_before_it_trains_with_such(
    arms: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tiny_runs import ACT, RUN, SMALL

    from phaser.cli.main import execute
    from phaser.integrations.lerobot.progress import Learnt, Progress

    progress = Progress(tmp_path / "memory")
    still = statistics_of(arms["stiff_png"])
    progress.write_statistics("stiff_png", still, still)
    progress.add(
        Learnt(
            name="stiff_png",
            repo_id="made/stiff_png",
            root=str(arms["stiff_png"]),
            episodes=None,
            held_out=(),
            instruction="push",
            method="phaser",
            output=str(tmp_path / "first"),
            num_steps=1,
            statistics="first",
        )
    )
    words = [*ACT, *RUN, *SMALL, "--steps=1", f"--output_dir={tmp_path}/out"]
    words += [f"--replay.folder={tmp_path}/memory", "--replay.statistics", "first"]
    words += ["--dataset.repo_id=made/left_png", f"--dataset.root={arms['left_png']}"]
    assert execute(["lerobot-train", *words]) == 2
    said = capsys.readouterr().err
    assert "number 5 of" in said
    assert "hardly varies in the statistics in force (std 0) but does in left_png" in said
    assert not (tmp_path / "out").exists()


def test_a_policys_forward_gives_a_pair_as_our_documentation_says(arms: dict[str, Path]) -> None:
    """LeRobot's policies return (loss, dict): `policy(batch).loss` would fail (fact H)."""
    import torch
    from lerobot.configs.types import FeatureType, PolicyFeature
    from lerobot.policies.act.configuration_act import ACTConfig
    from lerobot.policies.act.modeling_act import ACTPolicy

    config = ACTConfig(
        device="cpu",
        chunk_size=2,
        n_action_steps=2,
        dim_model=16,
        n_heads=2,
        dim_feedforward=16,
        n_encoder_layers=1,
        n_vae_encoder_layers=1,
        latent_dim=4,
        push_to_hub=False,
        input_features={
            "observation.state": PolicyFeature(type=FeatureType.STATE, shape=(6,)),
            "observation.environment_state": PolicyFeature(type=FeatureType.ENV, shape=(6,)),
        },
        output_features={"action": PolicyFeature(type=FeatureType.ACTION, shape=(6,))},
    )
    batch = {
        "observation.state": torch.zeros(2, 6),
        "observation.environment_state": torch.zeros(2, 6),
        "action": torch.zeros(2, 2, 6),
        "action_is_pad": torch.zeros(2, 2, dtype=torch.bool),
    }
    loss, more = ACTPolicy(config)(batch)
    assert loss.ndim == 0
    assert "l1_loss" in more
    documented = (Path(__file__).parents[3] / "docs" / "how-to-replay.md").read_text()
    assert "loss, _ = policy(task.mix(batch))" in documented


def test_a_dataset_that_is_gone_is_left_out_of_the_measurement(
    arms: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tiny_runs import ACT, RUN, SMALL, losses

    from phaser.cli.main import execute

    data = shutil.copytree(arms["left_png"], tmp_path / "gone")
    shared = [*RUN, *SMALL, "--num_workers=0", "--steps=1", f"--replay.folder={tmp_path}/memory"]
    run = ["--dataset.repo_id=made/gone", f"--dataset.root={data}", f"--output_dir={tmp_path}/a"]
    assert execute(["lerobot-train", *run, *ACT, *shared]) == 0
    shutil.rmtree(data)
    run = ["--dataset.repo_id=made/right", f"--dataset.root={arms['right_png']}"]
    policy = tmp_path / "a" / "checkpoints" / "last" / "pretrained_model"
    run += [f"--output_dir={tmp_path}/b", f"--policy.path={policy}", "--policy.push_to_hub=false"]
    assert execute(["lerobot-train", *run, *shared]) == 0
    assert "gone is not measured" in capsys.readouterr().err
    assert sorted(losses(tmp_path / "memory")) == [(0, 0), (1, 1)]
