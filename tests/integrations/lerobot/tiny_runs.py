"""Command lines of `phaser lerobot-train` with an ACT policy small enough for a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[3] / "src"
IS_06 = tuple(map(int, version("lerobot").split(".")[:2])) >= (0, 6)

ACT = [
    "--policy.type=act",
    "--policy.device=cpu",
    "--policy.push_to_hub=false",
    "--policy.pretrained_backbone_weights=null",
    "--policy.chunk_size=8",
    "--policy.n_action_steps=8",
    "--policy.dim_model=32",
    "--policy.n_heads=2",
    "--policy.dim_feedforward=64",
    "--policy.n_encoder_layers=1",
    "--policy.n_vae_encoder_layers=1",
    "--policy.latent_dim=8",
]
RUN = ["--batch_size=8", "--log_freq=1", "--env_eval_freq=0" if IS_06 else "--eval_freq=0"]
ARM = ["--replay.motion", *"01234", "--replay.gripper", "5", "--replay.absolute"]
"""Six joints of which the last is the gripper, as absolute targets."""
# Without images in the description of phases: no encoder has to look at any.
SMALL = [*ARM, "--replay.budget", "12", "--replay.held-out-frames", "4", "--replay.cameras", "none"]
FORK = ["--num_workers=2", *(["--dataloader_multiprocessing_context=fork"] if IS_06 else [])]


def command(*words: object, launcher: tuple[str, ...] = ()) -> list[str]:
    """The verb in a process of its own."""
    own = ["-m", "phaser.cli", "lerobot-train", *map(str, words)]
    return [sys.executable, *launcher, *own]


def environment() -> dict[str, str]:
    """Ours first on the path, no hub, one thread."""
    return {
        **os.environ,
        "PYTHONPATH": str(SOURCES),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


def started(words: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as stream:
        return subprocess.Popen(words, env=environment(), stdout=stream, stderr=stream)


def losses(memory: Path) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Measured rows by (after which task, of which dataset)."""
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for line in (memory / "lerobot" / "losses.jsonl").read_text().splitlines():
        row = json.loads(line)
        found.setdefault((row["after_index"], row["task_index"]), []).append(row)
    return found
