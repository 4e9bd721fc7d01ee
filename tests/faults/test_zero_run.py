"""A whole run of a tiny backbone in two processes under DeepSpeed ZeRO, on the CPU.

Its loss curve agrees with one process's at the same global batch within 1e-4.
"""

from importlib.util import find_spec

import pytest
import torch
from launched_runs import TASKS, launcher, steps
from safetensors.torch import load_file
from test_kill_and_resume import require_same

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("deepspeed", "transformers", "peft")),
    reason="needs phaser-vla[backbones] and DeepSpeed: pip install deepspeed==0.19.8",
)
NEAR = 1e-4


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    with launcher(tmp_path_factory.mktemp("zero-cache"), DS_ACCELERATOR="cpu") as launched:
        yield launched


def require_the_curve_of_one_process(launch, place, *, stage, near=NEAR, **settings):
    assert launch(place / "one", world=1, settings=settings) == [0]
    assert launch(place / "two", world=2, zero=stage, settings=settings) == [0, 0]
    for task in TASKS:
        one, two = steps(place / "one", task), steps(place / "two", task)
        assert two.drop(["loss"]).equals(one.drop(["loss"]))
        assert two["loss"].to_pylist() == pytest.approx(one["loss"].to_pylist(), rel=near)


@pytest.mark.parametrize("stage", [1, 2])
def test_moments_that_are_shared_out_and_kept_give_the_curve_of_one_process(
    launch, tmp_path, stage
):
    require_the_curve_of_one_process(launch, tmp_path, stage=stage, keep_moments=True)


def test_a_base_in_bfloat16_keeps_its_precision_and_the_trained_weights_theirs(launch, tmp_path):
    """A bfloat16 pass rounds to one part in 256: the curves part by 3 % within twelve steps."""
    require_the_curve_of_one_process(launch, tmp_path, stage=2, near=5e-2, precision="bfloat16")
    kept = load_file(tmp_path / "two" / "checkpoints" / "01-push.safetensors")
    assert {value.dtype for value in kept.values()} == {torch.float32}


def test_a_step_may_pass_in_parts(launch, tmp_path):
    require_the_curve_of_one_process(launch, tmp_path, stage=2, parts=2)


@pytest.mark.parametrize("method", ["mir", "ewc", "icarl", "der"])
def test_methods_that_ask_the_policy_give_the_curve_of_one_process(launch, tmp_path, method):
    """Virtual steps and penalties see the mean gradient over all processes."""
    require_the_curve_of_one_process(launch, tmp_path, stage=2, method=method)


def test_a_run_under_zero_2_that_is_killed_goes_on_to_the_same_bits(launch, tmp_path):
    settings = {"keep_moments": True}
    assert launch(tmp_path / "whole", world=2, zero=2, settings=settings) == [0, 0]
    for writes_until_killed in (5, 7, 12):
        killed, other = launch(
            tmp_path / "run", world=2, zero=2, kill_at=writes_until_killed, settings=settings
        )
        assert killed == -9
        assert other != 0
    assert launch(tmp_path / "run", world=2, zero=2, settings=settings) == [0, 0]
    require_same(tmp_path / "run", tmp_path / "whole")
