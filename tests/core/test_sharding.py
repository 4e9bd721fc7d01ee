"""What an `accelerate config` asks for is done, or refused in one line before anything starts."""

import json

import pytest

from phaser.core.errors import BadInput, MissingDependency
from phaser.core.sharding import check_launcher, zero_stage

FILE = "ACCELERATE_DEEPSPEED_CONFIG_FILE"


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """Sets what `accelerate launch` would set; a dict is written as DeepSpeed's own file."""

    def sets(**variables):
        for name, value in variables.items():
            if not isinstance(value, str):
                path = tmp_path / "zero.json"
                path.write_text(json.dumps(value))
                value = str(path)
            monkeypatch.setenv(name, value)

    return sets


def zero_2(**more):
    return {"zero_optimization": {"stage": 2, **more.pop("zero", {})}, **more}


def test_without_a_launcher_nothing_is_shared_out():
    assert zero_stage() is None


@pytest.mark.parametrize(
    ("file", "stage"),
    [
        (zero_2(), 2),
        ({"zero_optimization": {"stage": 1}}, 1),
        (zero_2(bf16={"enabled": "auto"}, zero={"offload_optimizer": {"device": "none"}}), 2),
    ],
)
def test_stages_that_leave_weights_whole_are_taken_from_a_file(configured, file, stage):
    configured(ACCELERATE_USE_DEEPSPEED="true", **{FILE: file})
    assert zero_stage() == stage


def test_the_stage_that_accelerate_asks_for_without_a_file(configured):
    configured(ACCELERATE_USE_DEEPSPEED="true")
    assert zero_stage() == 2
    configured(ACCELERATE_DEEPSPEED_ZERO_STAGE="1")
    assert zero_stage() == 1


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"ACCELERATE_USE_FSDP": "true"}, "configured for FSDP, which shares out the weights"),
        ({"ACCELERATE_USE_MEGATRON_LM": "true"}, "configured for Megatron-LM"),
        ({"ACCELERATE_USE_PARALLELISM_CONFIG": "true"}, "tensor or context parallelism"),
        ({"ACCELERATE_DEEPSPEED_ZERO_STAGE": "3"}, "ZeRO stage 3; expected 1 or 2"),
        ({"ACCELERATE_DEEPSPEED_ZERO_STAGE": "two"}, "ZeRO stage two; expected 1 or 2"),
        ({"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE": "cpu"}, "offload_optimizer to cpu"),
        ({FILE: {"zero_optimization": {"stage": 3}}}, "ZeRO stage 3; expected 1 or 2"),
        ({FILE: {}}, "ZeRO stage 0; expected 1 or 2"),
        ({FILE: zero_2(bf16={"enabled": True})}, "bf16, which would train in 16 bits"),
        ({FILE: zero_2(fp16={"enabled": True})}, "fp16, which would train in 16 bits"),
        ({FILE: zero_2(zero={"offload_param": {"device": "nvme"}})}, "offload_param to nvme"),
        ({FILE: zero_2(optimizer={"type": "Adam"})}, "'optimizer'; expected none"),
        ({FILE: zero_2(scheduler={"type": "WarmupLR"})}, "'scheduler'; expected none"),
        ({FILE: []}, "is no configuration of DeepSpeed"),
        ({FILE: "nowhere.json"}, r"nowhere\.json does not exist"),
    ],
    ids=str,
)
def test_what_would_share_out_weights_or_change_the_run_is_refused(configured, variables, said):
    configured(ACCELERATE_USE_DEEPSPEED="true", **variables)
    with pytest.raises(BadInput, match=said):
        zero_stage()


def test_a_method_that_reads_gradients_is_refused_where_deepspeed_frees_them(configured):
    check_launcher("agem", reads_gradient=True)
    configured(ACCELERATE_USE_DEEPSPEED="true")
    with pytest.raises(BadInput, match="agem reads the gradient in the weights, which DeepSpeed"):
        check_launcher("agem", reads_gradient=True)


def test_deepspeed_that_is_missing_is_named_and_only_where_it_is_asked_for(configured, monkeypatch):
    monkeypatch.setattr("phaser.core.sharding.find_spec", lambda name: None)
    check_launcher("mir", reads_gradient=False)
    configured(ACCELERATE_USE_DEEPSPEED="true")
    with pytest.raises(MissingDependency, match="pip install deepspeed"):
        check_launcher("mir", reads_gradient=False)
