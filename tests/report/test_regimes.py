"""A lead is split by kind of task, stream by stream."""

import pytest
from written_runs import write_run_folder

from benchmarks.regimes import splits, table
from phaser.memory.budget import Budget


def test_a_lead_in_the_first_half_is_found_there(tmp_path):
    for seed in (0, 1):
        for size in (10, 20):
            for method, early in (("er", 2), ("phaser", 5)):
                write_run_folder(
                    tmp_path / f"{method}-b{size}" / f"s{seed}",
                    method,
                    seed,
                    final=[early, early, 4, 4 + seed],
                    budget=Budget.per_task(size),
                )
    found = {one.kind: one for one in splits(tmp_path, ("phaser", "er"), (10, 20))}
    assert found["solved %, first half of the stream"].difference == pytest.approx(30)
    assert found["solved %, second half"].difference == pytest.approx(0)
    assert found["solved %, second half"].streams == 2
    assert next(table(list(found.values()), ("phaser", "er"))).startswith("| | phaser | er |")
