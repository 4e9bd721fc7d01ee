"""Small memories on disk with samples of every kind, and what a sample must be equal to."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from synthetic import prepared_task

from phaser.core.demonstration import FrameRef
from phaser.core.streams import Streams
from phaser.memory.certificate import phase_rows
from phaser.memory.codecs import ImageCodec
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.sample import NewTask, Sample, TensorArray
from phaser.memory.store import Store

ABOUT = {"method": "phaser", "seed": 3}


def sample_of(ref: FrameRef) -> Sample:
    """Every kind of leaf, drawn from the frame's own numbers so that it can be made again."""
    rng = np.random.default_rng([ref.demo, ref.frame, len(ref.task)])
    pixels = rng.integers(0, 256, (20, 16, 3), dtype=np.uint8)
    levels = rng.integers(0, 256, (3, 20, 16)).astype(np.float32)
    return {
        "observation.image": pixels,
        "observation.scaled": TensorArray(values=levels / np.float32(255), dtype="float32"),
        "views": [Image.fromarray(pixels[::-1].copy()), Image.fromarray(pixels[..., 0].copy())],
        "state": rng.normal(size=7).astype(np.float32),
        "half": TensorArray(values=rng.integers(0, 9, 3).astype(np.uint16), dtype="bfloat16"),
        "chunk": (rng.normal(size=(4, 2)), np.array([False, False, True, True])),
        "tokens": [int(one) for one in rng.integers(0, 99, ref.frame % 5)],
        "ragged": rng.normal(size=(ref.frame % 3, 2)),
        "step": np.int64(ref.frame),
        "lang": f"öffne die Schublade {ref.frame}",
        "blob": bytes(range(ref.frame % 7)),
        "nothing": None,
    }


def new_task(name: str = "lift", *, frames: int = 12, stride: int = 3) -> NewTask:
    task = prepared_task(name, seed=len(name))
    rule = PhaseBuckets(stride=stride)
    buckets = rule.select(task, frames, Streams(0).named("keep", name))
    return NewTask(
        task=task.task,
        buckets=buckets,
        sample_of=sample_of,
        phases=phase_rows(task, buckets, rule),
        source={"dataset": "made up"},
    )


def made_memory(folder: Path, *names: str, codec: str = "png") -> Store:
    store = Store.create(folder, about=ABOUT)
    for name in names or ("lift", "push"):
        store = store.add(new_task(name), ImageCodec.parse(codec))
    return store


def refs_of(store: Store) -> list[FrameRef]:
    return [ref for bucket in store.memory.buckets for ref in bucket.frames]


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder with their bytes."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def rewrite_manifest(folder: Path, change: Any) -> None:
    """Change a manifest as an attacker would: with the checksum made right again."""
    path = folder / "manifest.json"
    fields = json.loads(path.read_text())
    change(fields)
    blank = _in_its_one_form(fields | {"checksum": ""})
    checksum = hashlib.sha256(blank.encode()).hexdigest()
    path.write_text(_in_its_one_form(fields | {"checksum": checksum}))


def _in_its_one_form(fields: dict[str, Any]) -> str:
    """The text of a manifest as docs/memory-format.md describes it, written by other code."""
    lines = []
    for key, value in fields.items():
        if key in ("removed", "segments", "tasks"):
            entries = ",\n".join(json.dumps(one, sort_keys=True) for one in value)
            lines.append(f'"{key}": [\n{entries}\n]')
        else:
            lines.append(f'"{key}": {json.dumps(value, sort_keys=True)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def assert_same(expected: Any, found: Any) -> None:
    """Equal in value, type, shape and every bit."""
    if isinstance(expected, Image.Image):
        assert isinstance(found, Image.Image)
        assert (found.mode, found.size) == (expected.mode, expected.size)
        assert found.tobytes() == expected.tobytes()
        return
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            assert_same(value, found[key])
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(expected, found, strict=True):
            assert_same(one, other)
    elif isinstance(expected, TensorArray):
        assert found.dtype == expected.dtype
        assert_same(expected.values, found.values)
    elif isinstance(expected, np.ndarray | np.generic):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
    else:
        assert found == expected or expected != expected
