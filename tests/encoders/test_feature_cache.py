"""Frozen features are computed once, stored whole and never trusted when they do not fit."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from phaser.core.errors import BadInput
from phaser.encoders.feature_cache import Features, cached_features


class Counting:
    def __init__(self, **features: np.ndarray) -> None:
        self.features, self.calls = features, 0

    def __call__(self) -> Features:
        self.calls += 1
        return self.features


def maps() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(5, 40, 3, 3)).astype(np.float32)


def test_features_are_computed_once_and_read_from_disk_after(tmp_path: Path) -> None:
    compute = Counting(fine=maps())
    first = cached_features(["encoder", "images"], compute, tmp_path)
    second = cached_features(["encoder", "images"], compute, tmp_path)
    assert compute.calls == 1
    assert first["fine"].tobytes() == second["fine"].tobytes()
    np.testing.assert_allclose(second["fine"], maps(), rtol=1e-3, atol=1e-6)


def test_features_are_float16_memory_maps_that_cannot_be_written(tmp_path: Path) -> None:
    fine = cached_features(["encoder"], Counting(fine=maps()), tmp_path)["fine"]
    assert isinstance(fine, np.memmap)
    assert fine.dtype == np.float16
    with pytest.raises(ValueError, match="read-only"):
        fine[0] = 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    value=arrays(
        np.float16, array_shapes(min_side=0, max_side=4), elements=st.floats(-9, 9, width=16)
    )
)
def test_half_precision_values_come_back_bit_for_bit(tmp_path: Path, value: np.ndarray) -> None:
    key = [str(value.shape), value.tobytes().hex()]
    stored = cached_features(key, Counting(value=value), tmp_path)["value"]
    assert stored.shape == value.shape
    assert stored.tobytes() == value.tobytes()


def test_another_key_is_another_place_however_its_parts_are_cut(tmp_path: Path) -> None:
    for key in (["ab", "c"], ["a", "bc"], ["abc"]):
        compute = Counting(fine=maps())
        cached_features(key, compute, tmp_path)
        assert compute.calls == 1


def test_a_truncated_array_is_computed_again(tmp_path: Path) -> None:
    compute = Counting(fine=maps())
    cached_features(["encoder"], compute, tmp_path)
    (path,) = tmp_path.rglob("fine.npy")
    path.write_bytes(path.read_bytes()[:-10])
    again = cached_features(["encoder"], compute, tmp_path)
    assert compute.calls == 2
    assert again["fine"].shape == (5, 40, 3, 3)


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"format": "other"}', '{"format": "phaser-features-1", "key": ["encoder"]}'],
)
def test_an_index_that_makes_no_sense_counts_as_not_there(tmp_path: Path, content: str) -> None:
    compute = Counting(fine=maps())
    cached_features(["encoder"], compute, tmp_path)
    (index,) = tmp_path.rglob("index.json")
    index.write_text(content)
    cached_features(["encoder"], compute, tmp_path)
    assert compute.calls == 2


def test_an_array_of_another_shape_than_its_index_is_computed_again(tmp_path: Path) -> None:
    compute = Counting(fine=maps())
    cached_features(["encoder"], compute, tmp_path)
    (index,) = tmp_path.rglob("index.json")
    entry = json.loads(index.read_text())
    entry["arrays"]["fine"]["shape"] = [5, 40, 9]
    index.write_text(json.dumps(entry))
    cached_features(["encoder"], compute, tmp_path)
    assert compute.calls == 2


def test_a_pickled_array_on_disk_is_never_loaded(tmp_path: Path) -> None:
    compute = Counting(fine=maps())
    cached_features(["encoder"], compute, tmp_path)
    (path,) = tmp_path.rglob("fine.npy")
    np.save(path, np.array([{"any": "object"}], dtype=object), allow_pickle=True)
    (index,) = tmp_path.rglob("index.json")
    entry = json.loads(index.read_text())
    entry["arrays"]["fine"]["size"] = path.stat().st_size
    index.write_text(json.dumps(entry))
    assert cached_features(["encoder"], compute, tmp_path)["fine"].dtype == np.float16
    assert compute.calls == 2


def test_a_failed_computation_leaves_nothing_that_looks_finished(tmp_path: Path) -> None:
    compute = Counting(fine=maps(), coarse=np.array([1e9]))
    with pytest.raises(BadInput, match="float16 cannot hold"):
        cached_features(["encoder"], compute, tmp_path)
    assert not list(tmp_path.rglob("index.json"))


@pytest.mark.parametrize("name", ["../escape", "a/b", ""])
def test_a_feature_name_that_is_no_plain_word_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="identifier"):
        cached_features(["encoder"], lambda: {name: maps()}, tmp_path)


def test_an_empty_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least one part"):
        cached_features([], Counting(fine=maps()), tmp_path)
