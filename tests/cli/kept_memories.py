"""Small memories on disk whose frames say where they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from synthetic import prepared_task

from phaser.core.demonstration import FrameRef
from phaser.core.streams import Streams
from phaser.memory.codecs import ImageCodec
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.sample import NewTask, TensorArray
from phaser.memory.store import Store

HEIGHT, WIDTH = 24, 32
CAMERA = "observation.images.front"


def pixels_of(ref: FrameRef) -> np.ndarray:
    """A picture that only this frame has."""
    noise = np.random.default_rng([*ref.task.encode(), ref.demo, ref.frame])
    pixels = noise.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    pixels[:8, :8] = ref.demo, ref.frame, 200
    return pixels


def action_of(ref: FrameRef) -> np.ndarray:
    return np.array([ref.demo, ref.frame, 0.5], np.float32)


def lerobot_sample(ref: FrameRef) -> dict[str, Any]:
    """As LeRobot gives it: a chunk of actions, floating-point pixels with the colours first."""
    image = np.moveaxis(pixels_of(ref), 2, 0).astype(np.float32) / np.float32(255)
    chunk = np.stack([action_of(ref), np.full(3, -1, np.float32)])
    state = np.array([ref.frame, ref.demo], np.float32)
    return {
        CAMERA: TensorArray(values=image, dtype="float32"),
        "observation.state": TensorArray(values=state, dtype="float32"),
        "action": TensorArray(values=chunk, dtype="float32"),
        "action_is_pad": TensorArray(values=np.array([False, False]), dtype="bool"),
        "task": f"do {ref.task}",
    }


def alphabrain_sample(ref: FrameRef) -> dict[str, Any]:
    """As AlphaBrain gives it: a list of pictures, text, a chunk of actions."""
    return {
        "image": [Image.fromarray(pixels_of(ref))],
        "lang": f"do {ref.task}",
        "action": np.stack([action_of(ref)] * 2),
        "joints": np.array([1.0, 2.0]),
    }


def write_memory(
    folder: Path,
    *,
    tasks: tuple[str, ...] = ("lift", "push"),
    sample_of: Callable[[FrameRef], Any] = lerobot_sample,
    codec: ImageCodec | None = None,
) -> Store:
    """Two tasks of three phases, four demonstrations each; twelve frames of each task."""
    store = Store.create(folder, about={"method": "phaser", "seed": 0})
    for name in tasks:
        task = prepared_task(name)
        stream = Streams(0).named("keep", name)
        buckets = PhaseBuckets().select(task, 12, stream)
        new = NewTask(task=task.task, buckets=buckets, sample_of=sample_of, source={"from": "here"})
        store = store.add(new, codec or ImageCodec())
    return store
