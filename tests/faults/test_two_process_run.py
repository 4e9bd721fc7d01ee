"""A whole run of a tiny backbone in two processes: what one would do, written once, killed at will.

The loss curve agrees with one process's at the same global batch within 1e-4: a sum over two halves
rounds otherwise than one over the whole.
"""

import json
from importlib.util import find_spec

import pytest
from launched_runs import TASKS, launcher, steps
from test_kill_and_resume import require_same

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None or find_spec("peft") is None,
    reason="needs transformers and peft: pip install 'phaser-vla[backbones]'",
)
NEAR = 1e-4


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    with launcher(tmp_path_factory.mktemp("two-process-cache")) as launched:
        yield launched


@pytest.fixture(scope="module")
def runs(launch, tmp_path_factory):
    """The folders of the same run in one and in two processes."""
    place = tmp_path_factory.mktemp("two-process-runs")
    assert launch(place / "one", world=1) == [0]
    assert launch(place / "two", world=2) == [0, 0]
    assert launch(place / "parts", world=2, settings={"parts": 2}) == [0, 0]
    return place


def gathered(place, name, rank):
    return json.loads((place / f"{name}-{rank}.json").read_text())


@pytest.mark.parametrize("name", ["two", "parts"])
def test_two_processes_have_the_loss_curve_of_one_on_the_same_batches(runs, name):
    for task in TASKS:
        one, two = steps(runs / "one", task), steps(runs / name, task)
        assert two.drop(["loss"]).equals(one.drop(["loss"]))
        losses = one["loss"].to_pylist()
        assert two["loss"].to_pylist() == pytest.approx(losses, rel=NEAR)
        assert len(set(losses)) == len(losses) == 6


def test_every_step_is_gathered_once_and_rehearsed_frames_are_shared_out(runs):
    """Rows 0, 2, … of a step's global batch belong to the first process, the others to the second;
    the rehearsed rows come first."""
    table = steps(runs / "two", "01-push")
    columns = [table[f"sample_{part}"].to_pylist() for part in ("tasks", "demos", "frames")]
    slices = [gathered(runs, "two", rank) for rank in range(2)]
    for parts in zip(*columns, strict=True):
        rows = [list(row) for row in zip(*parts, strict=True)]
        assert [row[0] for row in rows] == ["reach", "reach", "push", "push"]
        for rank in range(2):
            assert rows[rank::2] in slices[rank]


def test_virtual_steps_score_the_same_in_two_processes(launch, tmp_path):
    """Noise belongs to a row's place in the global batch, in a virtual step too."""
    mir = {"method": "mir"}
    assert launch(tmp_path / "one", world=1, settings=mir) == [0]
    assert launch(tmp_path / "two", world=2, settings=mir) == [0, 0]
    one, two = (steps(tmp_path / name, TASKS[1]) for name in ("one", "two"))
    assert two.drop(["loss"]).equals(one.drop(["loss"]))


def test_a_run_in_two_processes_that_is_killed_goes_on_to_the_same_bits(launch, runs, tmp_path):
    for writes_until_killed in (5, 7, 12):
        first, second = launch(tmp_path / "run", world=2, kill_at=writes_until_killed)
        assert first == -9
        assert second != 0
    assert launch(tmp_path / "run", world=2) == [0, 0]
    require_same(tmp_path / "run", runs / "two")
