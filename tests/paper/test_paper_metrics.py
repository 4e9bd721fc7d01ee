"""Metrics on a worked matrix and on the paper's per-task table (appendix H.1)."""

from __future__ import annotations

import pytest

from phaser.evaluation.matrix import SuccessMatrix
from phaser.evaluation.metrics import continual_metrics

OPENVLA_GOAL = {
    "sequential": ([0, 0, 0, 0, 0, 0, 0, 0, 0, 100], 10.0),
    "er": ([96, 72, 92, 46, 26, 72, 82, 98, 98, 94], 77.6),
    "phaser": ([98, 92, 80, 70, 74, 92, 78, 100, 96, 98], 87.8),
}


def test_metrics_of_a_worked_three_task_matrix() -> None:
    """R, in tenths:          a   b   c
    after a:                  9
    after b:                 10   8
    after c:                  4   5   7

    ASR        = (0.4 + 0.5 + 0.7) / 3               = 1.6 / 3
    NBT        = ((0.9 - 0.4) + (0.8 - 0.5)) / 2     = 0.4
    BWT        = -0.4
    forgetting = ((1.0 - 0.4) + (0.8 - 0.5)) / 2     = 0.45
    plasticity = (0.9 + 0.8 + 0.7) / 3               = 0.8
    LIBERO NBT = ((0.9 - (1.0 + 0.4) / 2) + (0.8 - 0.5)) / 2             = 0.25
    LIBERO AUC = ((0.9 + 1.0 + 0.4) / 3 + (0.8 + 0.5) / 2 + 0.7) / 3     = 6.35 / 9
    """
    tenths = {"aa": 9, "ba": 10, "bb": 8, "ca": 4, "cb": 5, "cc": 7}
    counts = {(key[0], key[1]): (k, 10) for key, k in tenths.items()}
    metrics = continual_metrics(SuccessMatrix.from_counts("abc", counts))
    assert metrics.average_success_rate == pytest.approx(1.6 / 3)
    assert metrics.negative_backward_transfer == pytest.approx(0.4)
    assert metrics.backward_transfer == pytest.approx(-0.4)
    assert metrics.forgetting == pytest.approx(0.45)
    assert metrics.plasticity == pytest.approx(0.8)
    assert metrics.libero_nbt == pytest.approx(0.25)
    assert metrics.libero_auc == pytest.approx(6.35 / 9)
    assert metrics.forward_transfer is None, "no task was tried before it was learnt"


def test_metrics_that_need_more_rollouts_are_told_only_where_they_were_made() -> None:
    """The matrix above, b tried after a (2 of 10) and c after b (1 of 10), then a stage less"""
    tenths = {"aa": 9, "ab": 2, "ba": 10, "bb": 8, "bc": 1, "ca": 4, "cb": 5, "cc": 7}
    counts = {(key[0], key[1]): (k, 10) for key, k in tenths.items()}
    before = continual_metrics(SuccessMatrix.from_counts("abc", counts))
    assert before.forward_transfer == pytest.approx(0.15)
    assert before.libero_auc == pytest.approx(6.35 / 9), "rollouts before learning do not count"
    del counts["b", "a"]
    less = continual_metrics(SuccessMatrix.from_counts("abc", counts))
    assert (less.libero_nbt, less.libero_auc, less.complete) == (None, None, False)
    assert less.negative_backward_transfer == pytest.approx(0.4)


@pytest.mark.parametrize("method", OPENVLA_GOAL)
def test_the_papers_per_task_rows_average_to_its_asr(method: str) -> None:
    percents, published = OPENVLA_GOAL[method]
    tasks = [f"T{i}" for i in range(1, 11)]
    counts = {("T10", task): (p // 2, 50) for task, p in zip(tasks, percents, strict=True)}
    counts |= {(task, task): (50, 50) for task in tasks[:-1]}
    metrics = continual_metrics(SuccessMatrix.from_counts(tasks, counts))
    assert 100 * metrics.average_success_rate == pytest.approx(published, abs=1e-9)
