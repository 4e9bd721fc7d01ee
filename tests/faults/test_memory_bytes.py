"""Any changed byte in any file of a memory is noticed, at opening or by verify, naming the file."""

from pathlib import Path

import numpy as np
import pytest
from stored_memories import contents, made_memory

from phaser.core.errors import BrokenFile
from phaser.memory.store import Store

FLIPS_PER_FILE = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("flipped") / "memory"
    made_memory(made)
    return made


def broken_file(folder: Path) -> str:
    with pytest.raises(BrokenFile) as caught:
        Store.open(folder).verify()
    return str(caught.value)


def test_every_flipped_byte_is_noticed_and_its_file_named(folder: Path, fault_seed: int) -> None:
    rng = np.random.default_rng(fault_seed)
    files = contents(folder)
    assert len(files) == 3
    for name, content in files.items():
        # The ends, where a reader's checks begin and stop, and a sample of what lies between.
        between = rng.integers(0, len(content), FLIPS_PER_FILE).tolist()
        for place in {0, 7, 8, len(content) // 2, len(content) - 1, *between}:
            flipped = bytearray(content)
            flipped[place] ^= 1 << int(rng.integers(8))
            (folder / name).write_bytes(flipped)
            assert name.rpartition("/")[2] in broken_file(folder), f"{name}, byte {place}"
        (folder / name).write_bytes(content)
    Store.open(folder).verify()


@pytest.mark.parametrize("change", ["cut", "longer", "empty", "gone"])
def test_a_file_of_another_length_is_noticed(folder: Path, change: str) -> None:
    for name, content in contents(folder).items():
        made = {"cut": content[:-1], "longer": content + b"\n", "empty": b""}.get(change)
        if made is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(made)
        told = broken_file(folder)
        assert name.rpartition("/")[2] in told
        (folder / name).write_bytes(content)
    Store.open(folder).verify()
