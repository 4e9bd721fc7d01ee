"""Metrics follow their definitions and say what they need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput
from phaser.evaluation.matrix import SuccessMatrix
from phaser.evaluation.metrics import continual_metrics


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.integers(0, 10), min_size=n * n, max_size=n * n)
    )
)
def test_forgetting_is_at_least_nbt_and_nbt_is_minus_bwt(successes: list[int]) -> None:
    size = int(len(successes) ** 0.5)
    tasks = [f"t{i}" for i in range(size)]
    counts = {
        (tasks[j], tasks[i]): (successes[j * size + i], 10)
        for j in range(size)
        for i in range(j + 1)
    }
    metrics = continual_metrics(SuccessMatrix.from_counts(tasks, counts))
    assert metrics.complete
    if size == 1:
        assert metrics.negative_backward_transfer is metrics.forgetting is None
        assert metrics.average_success_rate == metrics.plasticity
        return
    assert metrics.negative_backward_transfer is not None
    assert metrics.forgetting is not None
    assert metrics.backward_transfer == -metrics.negative_backward_transfer
    assert metrics.forgetting >= metrics.negative_backward_transfer - 1e-12


def test_a_partial_matrix_gives_a_lower_bound_of_forgetting_and_says_so() -> None:
    counts = {
        ("a", "a"): (5, 10),
        ("b", "b"): (10, 10),
        ("c", "a"): (2, 10),
        ("c", "b"): (10, 10),
        ("c", "c"): (10, 10),
    }
    partial = continual_metrics(SuccessMatrix.from_counts("abc", counts))
    full = continual_metrics(SuccessMatrix.from_counts("abc", {**counts, ("b", "a"): (8, 10)}))
    assert not partial.complete
    assert full.complete
    assert partial.forgetting == pytest.approx((0.5 - 0.2) / 2)
    assert full.forgetting == pytest.approx((0.8 - 0.2) / 2)


def test_a_missing_diagonal_is_named() -> None:
    matrix = SuccessMatrix.from_counts("ab", {("b", "a"): (1, 2), ("b", "b"): (1, 2)})
    with pytest.raises(BadInput, match="'a' after 'a'"):
        continual_metrics(matrix)


def test_a_joint_run_has_only_an_average_success_rate() -> None:
    matrix = SuccessMatrix.from_counts("ab", {("all", "a"): (1, 2), ("all", "b"): (2, 2)})
    metrics = continual_metrics(matrix)
    assert metrics.average_success_rate == 0.75
    assert metrics.negative_backward_transfer is None
    assert metrics.plasticity is None
