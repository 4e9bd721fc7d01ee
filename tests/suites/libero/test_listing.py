"""A listing is believed only after it was checked; digests are those of SHA-256 and git."""

import ast
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput, MissingDependency
from phaser.suites.libero import listing
from phaser.suites.libero.assets import package_folder
from phaser.suites.libero.digests import Digest
from phaser.suites.libero.listing import HubFile, check_path

EMPTY = Digest(kind="git SHA-1", value="e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
"""The name that git gives to an empty file."""


@given(st.lists(st.sampled_from(["a", "b.xml", ".", "..", "", "\\", "C:", " "])).map("/".join))
def test_a_path_that_is_let_through_stays_below_its_folder(path: str) -> None:
    try:
        check_path(path)
    except BadInput:
        return
    assert os.path.normpath(f"/folder/assets/{path}") == f"/folder/assets/{path}"


@pytest.mark.parametrize("size", [-1, 1 << 41, None, "12", 1.5])
def test_a_size_that_cannot_be_is_refused(size: object) -> None:
    with pytest.raises(BadInput, match="has a size of"):
        HubFile(path="a", size=size, digest=EMPTY)  # type: ignore[arg-type]


def test_digests_are_those_that_git_and_sha256_give(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    assert EMPTY.fits(path)
    path.write_bytes(b"hello\n")
    assert EMPTY.of(path) == "ce013625030ba8dba906f756967f9e9ca394464a"
    whole = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    assert Digest(kind="SHA-256", value=whole).fits(path)


@pytest.mark.parametrize(
    "value", ["", "../x", "E69DE29BB2D1D6434B8B29AE775AD8C2E48C5391", "0" * 64]
)
def test_a_digest_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(BadInput, match="is no git SHA-1"):
        Digest(kind="git SHA-1", value=value)


def test_the_repositories_are_those_that_hf_libero_names() -> None:
    try:
        source = (package_folder() / "utils" / "download_utils.py").read_text()
    except MissingDependency as error:
        pytest.skip(str(error))
    named = {
        node.targets[0].id: node.value.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    assert named["HF_ASSETS_REPO_ID"] == listing.ASSETS.name
    assert named["HF_REPO_ID"] == listing.DEMONSTRATIONS.name
