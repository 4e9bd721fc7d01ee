"""References to frames of real LeRobot datasets: the same samples, and copies later (fact G)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from arm_datasets import CAMERA
from plain_memories import plain_memory
from torch.utils.data import DataLoader

from phaser import Store
from phaser.cli import main


def test_frames_that_stay_in_their_video_come_back_bit_for_bit(
    tmp_path: Path, arms: dict[str, Path], monkeypatch: Any
) -> None:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "cache"))
    left = tmp_path / "left"
    shutil.copytree(arms["left"], left)
    chunks = {"delta_timestamps": {"action": [k / 10 for k in range(4)]}}
    first = LeRobotDataset("made/left", root=left, **chunks)
    second = LeRobotDataset("made/right", root=arms["right"], **chunks)
    drawn = {}
    for store in ("content", "references"):
        replay = plain_memory(tmp_path / store, store=store, codec="webp-lossless")
        with replay.task(first):
            pass
        task = replay.task(second)
        batches = DataLoader(second, 4, num_workers=2, multiprocessing_context="fork")
        drawn[store] = [task.mix(batch) for batch in batches][:3]
        task.__exit__(KeyboardInterrupt, None, None)
    for one, other in zip(drawn["content"], drawn["references"], strict=True):
        for name in (CAMERA, "action", "action_is_pad", "index", "task"):
            same = one[name] == other[name]
            assert same if name == "task" else bool(torch.as_tensor(same).all())
    referring = Store.open(tmp_path / "references")
    assert referring.certificate()["total_bytes"] == 12 * 28
    assert main.execute(["memory", "verify", str(tmp_path / "references")]) == 0
    words = ["memory", "materialise", str(tmp_path / "references"), "--codec", "webp-lossless"]
    assert main.execute(words) == 0
    shutil.rmtree(left)
    copied, kept = (Store.open(tmp_path / name) for name in ("references", "content"))
    copied.verify()
    refs = [ref for bucket in kept.memory.buckets for ref in bucket.frames]
    for one, other in zip(copied.read(refs), kept.read(refs), strict=True):
        np.testing.assert_array_equal(one[CAMERA].values, other[CAMERA].values)
