"""Memories changed at random, with a manifest that vouches for them, and random kills: new every
time."""

import os
import struct
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
from stored_memories import made_memory, refs_of, rewrite_manifest

from phaser.core.errors import BrokenFile
from phaser.memory.store import Store

FORGERIES = 200
SOAK = Path(__file__).parents[2] / "scripts" / "soak.py"


def forged(content: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes of a shard changed, most of them in its header, or a part taken out."""
    (length,) = struct.unpack_from("<Q", content)
    made = bytearray(content)
    if rng.random() < 0.2:
        first, second = sorted(rng.integers(0, len(content), 2).tolist())
        del made[first:second]
        return bytes(made)
    end = 8 + length if rng.random() < 0.7 else len(content)
    for place in rng.integers(0, end, int(rng.integers(1, 5))).tolist():
        made[place] = int(rng.integers(256))
    return bytes(made)


def test_a_forged_shard_is_read_as_it_is_or_refused_and_never_more(
    tmp_path: Path, fault_seed: int
) -> None:
    rng = np.random.default_rng(fault_seed)
    folder = tmp_path / "memory"
    made_memory(folder, "lift")
    (shard,) = (folder / "tasks").iterdir()
    whole, refused = shard.read_bytes(), list[str]()
    for _ in range(FORGERIES):
        content = forged(whole, rng)
        digest = sha256(content).hexdigest()
        for old in (folder / "tasks").iterdir():
            old.unlink()
        name = f"000-lift-{digest[:12]}.safetensors"
        (folder / "tasks" / name).write_bytes(content)
        fields = {"shard": name, "sha256": digest, "num_bytes": len(content)}
        rewrite_manifest(folder, lambda found, new=fields: found["tasks"][0].update(new))
        try:
            store = Store.open(folder)
            store.read(refs_of(store))
        except BrokenFile as error:
            refused.append(str(error))
    assert len(refused) > FORGERIES // 2
    assert not [line for line in refused if "\n" in line]


def test_a_short_soak_loses_nothing(tmp_path: Path, fault_seed: int) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [
            *(sys.executable, str(SOAK), "--minutes", "0.1", "--seed", str(fault_seed)),
            *("--folder", str(tmp_path), "--log", str(tmp_path / "soak.log")),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing lost, nothing wrong" in (tmp_path / "soak.log").read_text()
