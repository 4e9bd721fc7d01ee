"""What a cell's time was spent on: its own, that of its simulators, that of earlier processes."""

import pytest

from phaser.experiments.processor_time import ProcessorTime


def test_the_time_of_other_processes_counts_as_the_cell_s_own():
    spent = ProcessorTime({"rollout_s": 2.0, "rollouts": 3.0, "total_cpu_s": 10.0})
    with spent.timed("rollout_s"):
        pass
    spent.add("rollout_s", 5.0)
    spent.note(rollouts=4, rollout_clock_s=60.0)
    totals = spent.totals()
    assert totals["rollout_s"] == pytest.approx(7.0, abs=0.1)
    assert totals["total_cpu_s"] == pytest.approx(15.0, abs=0.1)
    assert totals["train_s"] == pytest.approx(0.0, abs=0.1)
    assert (totals["rollouts"], totals["rollout_clock_s"]) == (7.0, 60.0)
