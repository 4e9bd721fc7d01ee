"""Official initial states: the pinned ones, read without running anything, kept as safetensors."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from phaser.core.errors import BrokenFile, UnknownName
from phaser.suites.libero import init_states as states
from phaser.suites.libero.tasks import SUITES

GOAL, TASK = "libero-goal", "turn_on_the_stove"


@pytest.fixture(autouse=True)
def _own_cache(needs_libero: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of one task's file in a package folder of our own."""
    source = states.original_file(GOAL, TASK)
    monkeypatch.setattr(states, "package_folder", lambda: tmp_path)
    copy = states.original_file(GOAL, TASK)
    copy.parent.mkdir(parents=True)
    copy.write_bytes(source.read_bytes())
    return copy


@pytest.mark.parametrize("suite", SUITES)
def test_all_tasks_have_fifty_states_that_are_the_pinned_ones(suite: str) -> None:
    for task in SUITES[suite]:
        found = states.init_states(suite, task)
        assert found.shape[0] == 50
        assert found.dtype == np.float64
        assert states.digest(found) == states.pinned_hashes(suite, task)["states"]
        # Each begins with the time, which is zero, and seven joints at rest.
        assert not found[:, 0].any()
        assert np.abs(found[:, 1:8]).max() < np.pi


def test_what_is_read_is_what_torch_would_load() -> None:
    torch = pytest.importorskip("torch")
    path = states.original_file(GOAL, TASK)
    reconstruct = np._core.multiarray._reconstruct
    allowed = [(reconstruct, "numpy.core.multiarray._reconstruct"), np.ndarray, np.dtype]
    allowed.append(type(np.dtype("f8")))
    with torch.serialization.safe_globals(allowed):
        expected = torch.load(path, weights_only=True)
    np.testing.assert_array_equal(states.init_states(GOAL, TASK), expected)


def test_the_kept_copy_serves_when_the_original_is_gone(package: Path) -> None:
    first = states.init_states(GOAL, TASK)
    package.unlink()
    np.testing.assert_array_equal(states.init_states(GOAL, TASK), first)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_a_damaged_copy_is_made_anew(package: Path, damage: str) -> None:
    first = states.init_states(GOAL, TASK)
    kept = states.converted_file(GOAL, TASK)
    _damage(kept, damage)
    np.testing.assert_array_equal(states.init_states(GOAL, TASK), first)
    package.unlink()
    np.testing.assert_array_equal(states.init_states(GOAL, TASK), first)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "planted"])
def test_a_damaged_original_is_one_clear_line(package: Path, damage: str) -> None:
    _damage(package, damage)
    with pytest.raises(BrokenFile) as raised:
        states.init_states(GOAL, TASK)
    assert f"{package} has SHA-256" in str(raised.value)
    assert "--force-reinstall" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_original_and_a_task_of_another_suite_are_named(package: Path) -> None:
    package.unlink()
    with pytest.raises(BrokenFile, match="does not exist; reinstall"):
        states.init_states(GOAL, TASK)
    with pytest.raises(UnknownName, match="task of libero-10"):
        states.init_states("libero-long", TASK)


def _damage(path: Path, damage: str) -> None:
    content = bytearray(path.read_bytes())
    if damage == "truncated":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        content[len(content) // 2] ^= 1
    elif damage == "empty":
        content = bytearray()
    else:
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as archive:
            archive.writestr("archive/data.pkl", b"cos\nsystem\n(S'true'\ntR.")
        content = bytearray(held.getvalue())
    path.write_bytes(content)
