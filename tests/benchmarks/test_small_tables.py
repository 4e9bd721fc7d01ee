"""Tables of streams on a pretrained and on a random base, from runs whose losses are known."""

from types import SimpleNamespace

import pytest

from benchmarks.small_tables import rows_of_differences, rows_of_methods
from phaser.evaluation.matrix import Cell, SuccessMatrix
from phaser.evaluation.phase_losses import TaskLoss


def run(seed, tasks, learnt, final):
    """A run of two tasks, one rollout each, all of them failures when learnt but the last."""
    cells = {(task, task): Cell(successes=0, env_seeds=(1,)) for task in tasks}
    cells[tasks[-1], tasks[0]] = Cell(successes=1, env_seeds=(1,))
    return SimpleNamespace(
        seed=seed,
        tasks=tasks,
        task_losses=[TaskLoss(task=task, learnt=learnt, final=final) for task in tasks],
        matrix=SuccessMatrix(tasks=tasks, cells=cells),
        timing={"total_cpu_s": 10.0},
    )


@pytest.fixture
def grids():
    there, back = ("reach", "push", "pull"), ("pull", "push", "reach")
    return {
        "pretrained": {
            "sequential": [run(0, there, 0.2, 0.5), run(1, back, 0.2, 0.5)],
            "er": [run(0, there, 0.2, 0.3), run(1, back, 0.2, 0.3)],
        },
        "random": {"er": [run(0, there, 0.4, 0.6)]},
    }


def test_a_row_tells_losses_forgetting_and_successes_of_a_method(grids):
    rows = list(rows_of_methods(grids))
    assert rows[2].startswith("| pretrained | sequential | 2 | 0.200 | 0.500 ")
    assert rows[2].endswith("| 0.300 | 0/6 | 2/4 | 10 |")
    assert len(rows) == 5


def test_differences_are_to_er_on_one_base_and_between_bases_over_common_seeds(grids):
    rows = list(rows_of_differences(grids))[2:]
    assert [row.split(" | ")[0] for row in rows] == [
        "| pretrained: sequential − er",
        "| er: pretrained − random",
    ]
    assert "| 2 | +0.000 | +0.200 | +0.200" in rows[0]
    assert "| 1 | −0.200 | −0.300 | −0.100" in rows[1]


def test_no_task_that_ends_a_run_counts_as_forgotten(grids):
    grids["pretrained"]["er"][0].task_losses[-1] = TaskLoss(task="pull", learnt=0.0, final=9.0)
    (er,) = [row for row in rows_of_methods(grids) if row.startswith("| pretrained | er")]
    assert "| 0.100 |" in er
