"""A real cell with real simulators, cut off between two steps and between two rollouts."""

from dataclasses import replace

import pytest

from phaser.experiments.cell import run_cell
from phaser.experiments.events import Measured, RolledOut, Stepped
from phaser.training.fit import Fit


class Interrupted(BaseException):
    """A process that ends here."""


@pytest.mark.parametrize(
    ("kind", "count"),
    [pytest.param(Stepped, 2, id="after a task's last step"), pytest.param(RolledOut, 2)],
)
def test_a_cell_that_was_cut_off_ends_with_the_same_bytes(tiny_run, tmp_path, kind, count):
    run = tiny_run("phaser", fit=Fit(steps_per_task=5, batch_size=8, checkpoint_every_steps=2))
    seen = []

    def notify(event):
        seen.append(type(event))
        if seen.count(kind) == count:
            raise Interrupted

    with pytest.raises(Interrupted):
        run_cell(run, tmp_path / "cut", notify)
    again = []
    run_cell(run, tmp_path / "cut", lambda event: again.append(type(event)))
    run_cell(replace(run), tmp_path / "whole")
    assert again.count(Measured) == 1
    names = [path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*.*")]
    same = [name for name in names if name.suffix in (".parquet", ".safetensors")]
    assert len(same) == 8
    for name in [*same, "routing.json", "budget.json", "run.json"]:
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
