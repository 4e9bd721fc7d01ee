"""A run notes what its steps and its transitions took, so that a report can tell them apart."""

import pytest
from made_up_run import made_up_run

from phaser.core.files import read_json
from phaser.experiments.cell import run_cell
from phaser.experiments.processor_time import ProcessorTime
from phaser.report.runs import read_run
from phaser.training.fit import Fit


@pytest.mark.parametrize(("name", "transitions"), [("icarl", 3), ("joint", None)])
def test_a_cell_counts_its_steps_and_its_transitions(name, transitions, tmp_path):
    run = made_up_run(tmp_path / "cache", name, fit=Fit(steps_per_task=4, batch_size=6))
    folder = tmp_path / "run"
    run_cell(run, folder)
    timing = read_json(folder / "timing.json")
    assert timing["steps"] == 4 * len(run.suite.tasks())
    assert timing.get("transitions") == transitions
    assert 0 < timing["learn_cpu_s"] <= timing.get("stream_cpu_s", timing["train_s"])
    assert timing["learn_cpu_s"] < timing["train_s"] < timing["total_cpu_s"]
    cost = read_run(folder).cost
    assert cost.step_ms == pytest.approx(1000 * timing["learn_cpu_s"] / timing["steps"])
    assert (cost.transition_ms is None) == (transitions is None)
    assert (cost.memory_bytes > 0, cost.penalty_bytes > 0) == (name == "icarl",) * 2


def test_noted_time_stays_part_of_training():
    spent = ProcessorTime({})
    with spent.noted("learn_cpu_s"):
        sum(range(300_000))
    totals = spent.totals()
    assert 0 < totals["learn_cpu_s"] <= totals["train_s"] == totals["total_cpu_s"]
