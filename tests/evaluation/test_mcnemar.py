"""The exact McNemar test against SciPy, and rollout by rollout on matrices."""

from __future__ import annotations

import pytest

from phaser.evaluation.matrix import Cell, SuccessMatrix
from phaser.evaluation.mcnemar import mcnemar_p, task_contrasts


def test_p_is_that_of_scipys_binomial_distribution() -> None:
    special = pytest.importorskip("scipy.special", reason="needs scipy, which metaworld brings")
    for first in range(0, 30, 3):
        for second in range(0, 30, 4):
            if first + second:
                tail = special.bdtr(min(first, second), first + second, 0.5)
                expected = min(1.0, 2 * tail)
                assert mcnemar_p(first, second) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_p(0, 0) == 1.0
    assert 0.0 < mcnemar_p(9_000, 11_000) < 1e-40


def matrix(outcomes: str, *, first_state: int = 0) -> SuccessMatrix:
    solved = bytes(int(one) for one in outcomes)
    states = tuple(range(first_state, first_state + len(outcomes)))
    cell = Cell(successes=sum(solved), env_seeds=states, solved=solved)
    return SuccessMatrix(tasks=("a",), cells={("a", "a"): cell})


def test_only_states_that_one_method_alone_solves_count_over_all_seeds() -> None:
    pairs = [(matrix("1110"), matrix("0010")), (matrix("1101"), matrix("0111"))]
    (found,) = task_contrasts(pairs)
    assert (found.first_only, found.second_only, found.pairs) == (3, 1, 8)
    assert found.p_value == pytest.approx(0.625)
    assert found.p_corrected == found.p_value


def test_counts_without_single_outcomes_are_not_compared_rollout_by_rollout() -> None:
    counted = SuccessMatrix.from_counts(["a"], {("a", "a"): (3, 4)})
    assert task_contrasts([(counted, matrix("1110"))]) == ()
