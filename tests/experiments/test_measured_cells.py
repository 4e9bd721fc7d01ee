"""Cells whose draws ask the policy: taken up after any step they end with the same bits."""

from dataclasses import replace

import pytest
from made_up_run import made_up_run

from phaser.core.files import read_json
from phaser.evaluation.simulators import Simulators
from phaser.experiments import resume
from phaser.experiments.cell import run_cell
from phaser.experiments.position import Position
from phaser.experiments.run import Run, run_from, settings_of
from phaser.methods.table import METHODS
from phaser.routing.adaptive import Adaptive
from phaser.routing.max_interference import MaxInterference
from phaser.routing.routed import Routed
from phaser.training.fit import Fit

FIT = Fit(steps_per_task=3, batch_size=6, checkpoint_every_steps=1)
DRAWS = {
    "mir": MaxInterference(refreshes_per_task=2, num_cached=4),
    "mir-snapshot": MaxInterference(refreshes_per_task=2, num_cached=4, variant="snapshot"),
    "mir-original": METHODS["mir-original"].draw,
    "loss-aware": METHODS["loss-aware"].draw,
    "loss-aware-phases": METHODS["loss-aware-phases"].draw,
    "phaser-adaptive": Adaptive(measure_every=2, prior=Routed(temperature=0.1)),
}
FORWARD_PASSES = {"mir": 6, "mir-snapshot": 2, "mir-original": 9, "phaser-adaptive": 2}
"""Of the second task's three steps, beside training; `loss-aware` asks before the first alone."""


class Interrupted(BaseException):
    """A process that ends here."""


@pytest.fixture(scope="module")
def simulators():
    with Simulators() as kept:
        yield kept


def measured_run(cache, name):
    run = made_up_run(cache, name, fit=FIT)
    suite = replace(run.suite, task_list=("reach", "push"))
    return replace(run, suite=suite, method=replace(run.method, draw=DRAWS[name]))


def ended(run, folder, simulators, monkeypatch):
    """Whether the cell reached its end; it is cut off at the next commit."""
    write = Position.write

    def cut(position, path):
        write(position, path)
        raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(resume.Position, "write", cut)
        try:
            run_cell(run, folder, simulators=simulators)
        except Interrupted:
            return False
    return True


def bits(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".parquet", ".safetensors") or path.name == "routing.json"
    }


@pytest.mark.parametrize("name", DRAWS)
def test_a_cell_cut_off_after_every_step_ends_with_the_same_bits(
    name, simulators, tmp_path, monkeypatch
):
    run = measured_run(tmp_path / "cache", name)
    run_cell(run, tmp_path / "whole", simulators=simulators)
    cuts = 0
    while not ended(run, tmp_path / "cut", simulators, monkeypatch):
        cuts += 1
    assert cuts == 2 * (FIT.steps_per_task + 1)
    assert bits(tmp_path / "cut") == bits(tmp_path / "whole")
    [transition] = read_json(tmp_path / "whole" / "routing.json")
    assert transition["passes"].get("forward", 0) == FORWARD_PASSES.get(name, 0)
    assert transition["effective_phases"] >= 1
    assert transition["amplification"] >= 1
    assert transition["uniform_share"] == (0.0 if name.startswith("mir") else 0.5)


@pytest.mark.parametrize("name", ["er-balanced", "mir", "mir-snapshot", "phaser-adaptive"])
def test_a_run_with_a_new_draw_is_read_back_as_it_was_written(name):
    run = Run().with_method(METHODS[name])
    assert run_from(settings_of(run), source="run.json") == run
