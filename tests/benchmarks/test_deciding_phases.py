"""Which phases decide success, where it is known."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.deciding_phases import main, slopes
from phaser.core.errors import BadInput


def run_of(approach, transport, *, hardness):
    """One run over two tasks and a last one: success hangs on the approach alone."""
    phases = [
        SimpleNamespace(task=task, phase=label, final_loss=loss * scale)
        for task, scale in (("lift", 1.0), ("pour", 3.0), ("push", 1.0))
        for label, loss in (("approach", approach), ("transport_2", transport))
    ]
    rate = SimpleNamespace(rate=hardness - 0.4 * (approach / 0.2 - 1))
    matrix = SimpleNamespace(final=lambda task: rate)
    return SimpleNamespace(
        tasks=("lift", "pour", "push"),
        preset="made-up",
        order="default",
        budget=20,
        phases=phases,
        matrix=matrix,
    )


@pytest.fixture
def runs():
    """Losses of the two phases in all combinations, so that neither says anything of the other."""
    losses = product(np.linspace(0.15, 0.25, 8), np.linspace(0.1, 0.5, 5))
    return [run_of(*pair, hardness=0.5) for pair in losses]


def test_the_slope_of_a_phase_is_what_success_loses_with_it(runs):
    found = {one.kind: one for one in slopes(runs)}
    assert set(found) == {"approach", "transport", "all"}
    assert found["approach"].slope == pytest.approx(-0.4, abs=1e-6)
    assert found["transport"].slope == pytest.approx(0, abs=1e-6)
    assert found["approach"].low <= found["approach"].slope <= found["approach"].high
    # The last task was not followed by another; the others count once per run.
    assert (found["approach"].num_tasks, found["approach"].num_points) == (2, 80)


def test_how_hard_a_task_is_does_not_enter(runs):
    other = [
        SimpleNamespace(**{**vars(run), "order": "reverse", "matrix": easier(run)}) for run in runs
    ]
    both = {one.kind: one.slope for one in slopes([*runs, *other])}
    assert both["approach"] == pytest.approx(-0.4, abs=1e-6)


def easier(run):
    rate = run.matrix.final("lift").rate + 0.3
    return SimpleNamespace(final=lambda task: SimpleNamespace(rate=rate))


def test_few_runs_or_none_say_nothing(runs, tmp_path):
    assert slopes(runs[:7]) == []
    with pytest.raises(BadInput, match="no task with 8 finished runs"):
        main([str(tmp_path)])
