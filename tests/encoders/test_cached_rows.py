"""Features that come part by part are stored as those that come at once, and never half."""

from pathlib import Path

import numpy as np
import pytest

from phaser.core.errors import BadInput
from phaser.encoders.feature_cache import cached_features, cached_rows

PARTS = [
    {"maps": np.arange(n * 6, dtype=np.float32).reshape(n, 2, 3) + n, "pixels": np.full((n, 2), n)}
    for n in (3, 1, 4)
]


def together(parts):
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_parts_are_stored_like_the_whole(tmp_path: Path):
    whole = cached_features(["a"], lambda: together(PARTS), tmp_path / "whole")
    rows = cached_rows(["a"], lambda: iter(PARTS), num_rows=8, folder=tmp_path / "parts")
    assert rows.keys() == whole.keys()
    for name, values in whole.items():
        np.testing.assert_array_equal(rows[name], values)
        assert rows[name].dtype == values.dtype
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / kind).rglob("*.npy")}
        for kind in ("whole", "parts")
    ]
    assert files[0] == files[1]


def test_they_are_computed_once_and_one_part_is_held_at_a_time(tmp_path: Path):
    alive: list[int] = []

    def parts():
        for number, part in enumerate(PARTS):
            alive.append(number)
            yield part

    for _ in range(2):
        cached_rows(["a"], parts, num_rows=8, folder=tmp_path)
    assert alive == [0, 1, 2]


def test_further_arrays_are_made_of_the_whole(tmp_path: Path):
    found = cached_rows(
        ["a"],
        lambda: iter(PARTS),
        num_rows=8,
        folder=tmp_path,
        derive=lambda whole: {"mean": whole["maps"].mean((1, 2), dtype=np.float32)},
    )
    expected = together(PARTS)["maps"].mean((1, 2)).astype(np.float16)
    np.testing.assert_allclose(found["mean"], expected, rtol=1e-3)


def test_an_encoder_that_fails_on_the_way_leaves_nothing_that_counts(tmp_path: Path):
    def failing():
        yield PARTS[0]
        raise BadInput("no more")

    with pytest.raises(BadInput, match="no more"):
        cached_rows(["a"], failing, num_rows=8, folder=tmp_path)
    assert not list(tmp_path.rglob("*.npy"))
    assert not list(tmp_path.rglob("*.tmp"))
    assert len(cached_rows(["a"], lambda: iter(PARTS), num_rows=8, folder=tmp_path)["maps"]) == 8


def test_missing_rows_are_refused(tmp_path: Path):
    with pytest.raises(BadInput, match="8 rows of features for 9 frames"):
        cached_rows(["a"], lambda: iter(PARTS), num_rows=9, folder=tmp_path)
