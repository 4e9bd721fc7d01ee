"""Memories written by released versions load for ever; newer ones are refused with advice."""

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file
from stored_memories import refs_of

from phaser.core.errors import BrokenFile
from phaser.memory.sample import TensorArray
from phaser.memory.store import Store

FIXTURES = Path(__file__).parents[1] / "fixtures"


def fingerprint(value: Any, *, pixels: bool) -> str:
    """A hash of a sample's types, shapes and bits; pixels of lossy images left out."""
    digest = hashlib.sha256()

    def take(one: Any) -> None:
        digest.update(type(one).__name__.encode())
        if isinstance(one, dict):
            for key, inner in one.items():
                digest.update(key.encode())
                take(inner)
        elif isinstance(one, list | tuple):
            for inner in one:
                take(inner)
        elif isinstance(one, TensorArray):
            digest.update(one.dtype.encode())
            take(one.values)
        elif isinstance(one, np.ndarray | np.generic):
            digest.update(f"{one.dtype}{one.shape}".encode())
            if pixels or one.ndim < 3:
                digest.update(one.tobytes())
        elif isinstance(one, Image.Image):
            digest.update(f"{one.mode}{one.size}".encode())
            if pixels:
                digest.update(one.tobytes())
        else:
            digest.update(repr(one).encode())

    take(value)
    return digest.hexdigest()


def described(store: Store) -> dict[str, Any]:
    """All that a memory says, in a form that can be kept beside it."""
    lossless = {task.name: task.codec.lossless for task in store.tasks}
    return {
        "about": store.about,
        "tasks": [
            {
                "name": task.name,
                "instruction": task.instruction,
                "codec": str(task.codec),
                "added": task.added,
                "source": task.source,
                "phases": list(task.phases),
            }
            for task in store.tasks
        ],
        "prototypes": [
            [
                bucket.phase.label,
                *(
                    hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest()
                    for part in (
                        bucket.prototype.language,
                        bucket.prototype.vision,
                        bucket.prototype.action,
                    )
                ),
                list(bucket.prototype.motion),
            ]
            for bucket in store.memory.buckets
        ],
        "samples": [
            [ref.task, ref.demo, ref.frame, fingerprint(sample, pixels=lossless[ref.task])]
            for ref, sample in zip(refs_of(store), store.read(refs_of(store)), strict=True)
        ],
    }


def test_a_memory_of_version_1_loads_as_it_was_written() -> None:
    store = Store.open(FIXTURES / "memory_v1")
    store.verify()
    expected = json.loads((FIXTURES / "memory_v1_expected.json").read_text())
    assert described(store) == expected


def test_the_words_of_an_older_certificate_do_not_make_it_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("phaser.memory.certificate.RULE", "shares are told in other words now")
    Store.open(FIXTURES / "memory_v1").verify()


def test_a_newer_version_is_refused_with_advice(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "memory_v1", tmp_path / "memory")
    path = tmp_path / "memory/manifest.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 3'))
    told = "version 3, this phaser reads 1 and 2; install a newer phaser"
    with pytest.raises(BrokenFile, match=told):
        Store.open(tmp_path / "memory")
    before = path.read_bytes()
    with pytest.raises(BrokenFile, match="install a newer phaser"):
        Store.open(tmp_path / "memory", writing=True)
    assert path.read_bytes() == before


def test_other_programs_read_the_same_arrays() -> None:
    store = Store.open(FIXTURES / "memory_v1")
    for task in store.tasks:
        theirs = load_file(FIXTURES / "memory_v1/tasks" / task.shard)
        ours = store.shard(task.name).file.arrays
        assert theirs.keys() == ours.keys()
        for name, values in ours.items():
            assert np.array_equal(theirs[name], values), name


def test_the_description_of_the_format_names_every_field_and_array() -> None:
    page = (Path(__file__).parents[2] / "docs/memory-format.md").read_text()
    words = set(re.findall(r"`([^`\n]+)`", page.replace("```", "")))
    store = Store.open(FIXTURES / "memory_v1")
    fields = set(json.loads((FIXTURES / "memory_v1/manifest.json").read_text()))
    for task in store.tasks:
        shard = store.shard(task.name)
        described_leaves = json.loads(shard.file.text["phaser"])
        fields |= set(task.fields()) | {key for row in task.phases for key in row}
        fields |= set(described_leaves) | set(described_leaves["leaves"][0])
        fields |= {re.sub(r"leaf\.\d+", "leaf.N", name) for name in shard.file.arrays}
    fields = {name.replace("prototype.vision", ".vision") for name in fields}
    assert {name.replace("prototype.action", ".action") for name in fields} <= words
