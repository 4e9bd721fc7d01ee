"""An export of a memory in the real LeRobot: true chunks, merged, and trained on without us."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from phaser import ActionLayout, Replay, Store
from phaser.cli import main

CHUNK = 8
TRAIN = """
import sys
sys.modules["phaser"] = None  # from here on, importing our package fails
from lerobot.scripts.lerobot_train import main
main()
"""
FLAGS = (
    "--policy.type=act --policy.device=cpu --policy.push_to_hub=false --policy.chunk_size=8 "
    "--policy.n_action_steps=8 --policy.dim_model=32 --policy.n_heads=2 "
    "--policy.dim_feedforward=32 --policy.n_encoder_layers=1 --policy.n_vae_encoder_layers=1 "
    "--policy.pretrained_backbone_weights=null --batch_size=4 --steps=3 --num_workers=0 "
    "--log_freq=1 --save_freq=3 --wandb.enable=false --dataset.repo_id=made/kept"
)


def chunks(root: Path) -> object:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    times = {"action": [step / 10 for step in range(CHUNK)]}
    return LeRobotDataset(f"made/{root.name}", root=root, delta_timestamps=times)


@pytest.fixture(scope="module")
def memory(arms: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten frames of each of two datasets, read by LeRobot with chunks of actions."""
    folder = tmp_path_factory.mktemp("memory") / "memory"
    layout = ActionLayout(motion=(0, 1, 2, 3, 4), gripper=(5,), convention="absolute")
    replay = Replay(folder, method="er", budget=10, layout=layout)
    for name, words in (("left_png", "put the cube to the left"), ("right_png", "put it right")):
        with replay.task(chunks(arms[name]), instruction=words, name=name):
            pass
    return folder


def export(memory: Path, out: Path, flags: str) -> Path:
    words = ["memory", "export", str(memory), "--to", str(out), *shlex.split(flags)]
    assert main.execute(words) == 0
    return out


def test_an_export_carries_the_robots_names_without_its_dataset(
    memory: Path, tmp_path: Path
) -> None:
    from arm_datasets import NAMES

    meta = chunks(export(memory, tmp_path / "out", "")).meta
    assert (meta.robot_type, meta.fps) == ("so100_follower", 10)
    assert meta.features["action"]["names"] == NAMES


def test_lerobot_trains_act_on_an_export_without_our_package(
    arms: dict[str, Path], memory: Path, tmp_path: Path
) -> None:
    source = memory.parent / "only-left"
    layout = ActionLayout(motion=(0, 1, 2, 3, 4), gripper=(5,), convention="absolute")
    with Replay(source, method="er", budget=10, layout=layout).task(
        chunks(arms["left_png"]), instruction="put the cube to the left", name="left"
    ):
        pass
    kept = export(source, tmp_path / "kept", f"--from {arms['left_png']} --chunk {CHUNK}")
    ours, theirs = chunks(kept), chunks(arms["left_png"])
    whole = {
        (int(row["episode_index"]), int(row["frame_index"])): row
        for row in map(theirs.__getitem__, range(len(theirs)))
    }
    refs = {
        (ref.demo, ref.frame)
        for bucket in Store.open(source).memory.buckets
        for ref in bucket.frames
    }
    seen = set()
    for place in range(len(ours)):
        row = ours[place]
        origin = (int(row["source_episode_index"]), int(row["source_frame_index"]))
        if origin in refs:
            seen.add(origin)
            assert (row["action_is_pad"] == whole[origin]["action_is_pad"]).all()
            assert (row["action"] == whole[origin]["action"])[~row["action_is_pad"]].all()
    assert seen == refs
    done = subprocess.run(
        [
            *(sys.executable, "-c", TRAIN, *shlex.split(FLAGS)),
            *(f"--dataset.root={kept}", f"--output_dir={tmp_path / 'trained'}"),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    saved = list((tmp_path / "trained").rglob("pretrained_model/model.safetensors"))
    assert saved


def test_lerobot_merges_an_export_with_the_dataset_it_came_from(
    arms: dict[str, Path], memory: Path, tmp_path: Path
) -> None:
    from lerobot.datasets.aggregate import aggregate_datasets

    kept = export(memory, tmp_path / "kept", "--mergeable")
    aggregate_datasets(
        ["made/kept", "made/right_png"],
        "made/both",
        roots=[kept, arms["right_png"]],
        aggr_root=tmp_path / "both",
    )
    both = chunks(tmp_path / "both")
    assert len(both) == 20 + len(chunks(arms["right_png"]))
    assert both[0]["task"] == "put the cube to the left"
