"""What an `accelerate config` asks for is done, or refused in one line before anything starts."""

import json

import pytest

from phaser.core.errors import BadInput, MissingDependency
from phaser.core.sharding import check_launcher, is_fsdp, keeps_gathered, zero_stage

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


def check(method, *, reads_gradient=False, asks_in_training=False):
    check_launcher(method, reads_gradient=reads_gradient, asks_in_training=asks_in_training)


def zero_2(**more):
    return {"zero_optimization": {"stage": 2, **more.pop("zero", {})}, **more}


def test_without_a_launcher_nothing_is_shared_out():
    assert zero_stage() is None
    assert not is_fsdp()


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
    check("agem", reads_gradient=True)
    configured(ACCELERATE_USE_DEEPSPEED="true")
    with pytest.raises(BadInput, match="agem reads the gradient in the weights, which DeepSpeed"):
        check("agem", reads_gradient=True)


def test_deepspeed_that_is_missing_is_named_and_only_where_it_is_asked_for(configured, monkeypatch):
    monkeypatch.setattr("phaser.core.sharding.find_spec", lambda name: None)
    check("mir")
    configured(ACCELERATE_USE_DEEPSPEED="true")
    with pytest.raises(MissingDependency, match="pip install deepspeed"):
        check("mir")


def test_the_second_version_of_fsdp_is_taken(configured):
    configured(ACCELERATE_USE_FSDP="true", FSDP_VERSION="2")
    assert zero_stage() is None
    assert is_fsdp()
    assert not keeps_gathered()
    configured(FSDP_RESHARD_AFTER_FORWARD="false")
    assert keeps_gathered()
    check("phaser")


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"FSDP_VERSION": "1"}, "version 1; expected 2"),
        ({"FSDP_OFFLOAD_PARAMS": "true"}, "parameters offloaded; expected false"),
        ({"FSDP_ACTIVATION_CHECKPOINTING": "true"}, "policy.compute.gradient_checkpointing"),
    ],
    ids=str,
)
def test_fsdp_that_cannot_be_done_is_refused(configured, variables, said):
    configured(ACCELERATE_USE_FSDP="true", **{"FSDP_VERSION": "2", **variables})
    with pytest.raises(BadInput, match=said):
        check("phaser")


def test_a_method_that_asks_the_policy_in_training_is_refused_under_fsdp(configured):
    check("mir", asks_in_training=True)
    configured(ACCELERATE_USE_FSDP="true", FSDP_VERSION="2")
    with pytest.raises(BadInput, match="mir asks the policy while a task is trained"):
        check("mir", asks_in_training=True)


def test_fsdp_needs_a_torch_that_has_it(configured, monkeypatch):
    monkeypatch.setattr("phaser.core.sharding.version", lambda name: "2.4.1+cpu")
    check("phaser")
    configured(ACCELERATE_USE_FSDP="true", FSDP_VERSION="2")
    with pytest.raises(MissingDependency, match=r"needs torch 2\.6, found 2\.4\.1"):
        check("phaser")
