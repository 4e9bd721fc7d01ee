"""A whole run of a tiny backbone in two processes: what one would do, written once, killed at will.

With DDP every process holds all weights, with FSDP a share of them. The loss curve agrees with one
process's at the same global batch within 1e-4: a sum over two halves rounds otherwise than one over
the whole.
"""

import json
import shutil
from importlib.util import find_spec

import pytest
import torch
from launched_runs import TASKS, launcher, steps
from safetensors.torch import load_file
from test_kill_and_resume import require_same

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None or find_spec("peft") is None,
    reason="needs transformers and peft: pip install 'phaser-vla[backbones]'",
)
NEAR = 1e-4
FSDP = {"world": 2, "fsdp": True, "settings": {"parts": 2, "keep_moments": True}}


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


@pytest.fixture(scope="module")
def shared_out(launch, tmp_path_factory):
    """The folders of a run whose moments are kept, in one process and with FSDP in two."""
    place = tmp_path_factory.mktemp("fsdp-runs")
    assert launch(place / "one", world=1, settings={"keep_moments": True}) == [0]
    assert launch(place / "two", **FSDP) == [0, 0]
    return place


def require_the_same_curve(one, two, near=NEAR):
    for task in TASKS:
        alone, shared = steps(one, task), steps(two, task)
        assert shared.drop(["loss"]).equals(alone.drop(["loss"]))
        losses = alone["loss"].to_pylist()
        assert shared["loss"].to_pylist() == pytest.approx(losses, rel=near)
        assert len(set(losses)) == len(losses) == 6


def gathered(place, name, rank):
    return json.loads((place / f"{name}-{rank}.json").read_text())


@pytest.mark.parametrize("name", ["two", "parts"])
def test_two_processes_have_the_loss_curve_of_one_on_the_same_batches(runs, name):
    require_the_same_curve(runs / "one", runs / name)


@pytest.mark.parametrize(("how", "parts"), [("runs", 1), ("shared_out", 2)])
def test_every_step_is_gathered_once_and_rehearsed_frames_are_shared_out(request, how, parts):
    """Rows 0, 2, … of a step's global batch belong to the first process, the others to the second;
    the rehearsed rows come first."""
    place = request.getfixturevalue(how)
    table = steps(place / "two", "01-push")
    columns = [table[f"sample_{part}"].to_pylist() for part in ("tasks", "demos", "frames")]
    slices = [gathered(place, "two", rank) for rank in range(2)]
    for values in zip(*columns, strict=True):
        rows = [list(row) for row in zip(*values, strict=True)]
        assert [row[0] for row in rows] == ["reach", "reach", "push", "push"]
        for rank in range(2):
            own = rows[rank::2]
            assert all(own[part::parts] in slices[rank] for part in range(parts))


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


def test_fsdp_gives_the_curve_of_one_process_with_half_of_the_weights_in_each(shared_out):
    require_the_same_curve(shared_out / "one", shared_out / "two")
    for rank in range(2):
        held = json.loads((shared_out / f"two-{rank}-held.json").read_text())
        assert len(held) == 2 * 6
        for weights, share, in_the_bare_policy in held:
            assert 0.45 * weights < share < 0.55 * weights
            assert in_the_bare_policy == 0


def test_fsdp_keeps_the_precision_of_base_and_trained_weights(launch, tmp_path):
    """A bfloat16 pass rounds to one part in 256: the curves part by 3 % within twelve steps."""
    settings = {"precision": "bfloat16"}
    assert launch(tmp_path / "one", world=1, settings=settings) == [0]
    assert launch(tmp_path / "two", world=2, fsdp=True, settings=settings) == [0, 0]
    require_the_same_curve(tmp_path / "one", tmp_path / "two", near=5e-2)
    kept = [
        load_file(tmp_path / name / "checkpoints" / "01-push.safetensors")
        for name in ("one", "two")
    ]
    assert {value.dtype for value in kept[1].values()} == {torch.float32}
    assert {name: value.shape for name, value in kept[0].items()} == {
        name: value.shape for name, value in kept[1].items()
    }


def test_a_run_under_fsdp_that_is_killed_goes_on_to_the_same_bits(launch, shared_out, tmp_path):
    """Its checkpoint is what DDP writes: with DDP the run goes on from there to the same curve."""
    for writes_until_killed in (5, 12):
        killed, other = launch(tmp_path / "run", **FSDP, kill_at=writes_until_killed)
        assert killed == -9
        assert other != 0
    shutil.copytree(tmp_path / "run", tmp_path / "with-ddp")
    assert launch(tmp_path / "run", **FSDP) == [0, 0]
    require_same(tmp_path / "run", shared_out / "two")
    assert launch(tmp_path / "with-ddp", **{**FSDP, "fsdp": False}) == [0, 0]
    require_the_same_curve(shared_out / "one", tmp_path / "with-ddp")
