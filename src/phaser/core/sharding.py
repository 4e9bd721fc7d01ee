"""How the user's `accelerate config` asks to share out a policy among processes.

Read from the environment that `accelerate launch` sets, so that what cannot be done is refused
before torch is loaded. Between tasks the weights must be whole in every process: rollouts are
shared out, and rules ask the bare policy. DDP and ZeRO's stages 1 and 2 leave them whole at all
times; under FSDP they are whole except while a task is trained.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, MissingDependency
from phaser.core.files import read_json

STAGES = (1, 2)
"""The stages of ZeRO that share out the optimiser's moments, but not the weights."""
TORCH_OF_FSDP = (2, 6)
"""The first torch with the second version of FSDP."""
OTHERS = {
    "ACCELERATE_USE_MEGATRON_LM": "Megatron-LM",
    "ACCELERATE_USE_PARALLELISM_CONFIG": "tensor or context parallelism",
}
REMEDY = "run `accelerate config` again, and `phaser plan` for what fits"


def zero_stage() -> int | None:
    """The stage of DeepSpeed's ZeRO that is asked for; None for anything else.

    Raises:
        BadInput: what is asked for would share out the weights, or change the run's own settings.
    """
    for flag, name in OTHERS.items():
        if _is_on(flag):
            raise BadInput(
                f"accelerate is configured for {name}, which shares out single passes; expected "
                "one process, multi-GPU (DDP), DeepSpeed ZeRO stage 1 or 2, or FSDP version 2: "
                f"{REMEDY}"
            )
    if not _is_on("ACCELERATE_USE_DEEPSPEED"):
        return None
    file = os.environ.get("ACCELERATE_DEEPSPEED_CONFIG_FILE", "none")
    found, where = (_flags(), "accelerate") if file == "none" else (_file(Path(file)), file)
    zero = _part(found, "zero_optimization")
    for part in _unfit(found, zero):
        raise BadInput(f"{where} configures DeepSpeed with {part}: {REMEDY}")
    stage: int = zero["stage"]
    return stage


def is_fsdp() -> bool:
    """True where the weights are to be shared out while a task is trained.

    Raises:
        BadInput: FSDP is asked for in a way that cannot be done.
    """
    if not _is_on("ACCELERATE_USE_FSDP"):
        return False
    for part in _unfit_for_fsdp():
        raise BadInput(f"accelerate configures FSDP with {part}: {REMEDY}")
    return True


def keeps_gathered() -> bool:
    """True where FSDP shall keep a layer's weights whole from its forward pass to its backward."""
    return os.environ.get("FSDP_RESHARD_AFTER_FORWARD", "true").lower() == "false"


def check_launcher(method: str, *, reads_gradient: bool, asks_in_training: bool) -> None:
    """Refuse what a launcher asks for, and a method that it leaves nothing to work with.

    Args:
        method: the name of the method.
        reads_gradient: True for a method that reads the gradient in the weights.
        asks_in_training: True for a method that asks the policy while a task is trained.
    """
    if zero_stage() is None:
        if is_fsdp():
            _check_fsdp(method, asks_in_training=asks_in_training)
        return
    if reads_gradient:
        raise BadInput(
            f"{method} reads the gradient in the weights, which DeepSpeed frees; train it with "
            "multi-GPU (DDP), or take a method that does not: `mir` computes a gradient of its own"
        )
    if find_spec("deepspeed") is None:
        raise MissingDependency(
            "accelerate is configured for DeepSpeed, which is not installed; run: "
            "pip install deepspeed"
        )


def _check_fsdp(method: str, *, asks_in_training: bool) -> None:
    if asks_in_training:
        raise BadInput(
            f"{method} asks the policy while a task is trained, when FSDP has shared out its "
            "weights; train it with multi-GPU (DDP), or take a method that asks between tasks only"
        )
    if tuple(map(int, version("torch").split(".")[:2])) < TORCH_OF_FSDP:
        raise MissingDependency(
            f"accelerate is configured for FSDP, which needs torch 2.6, found {version('torch')}; "
            "run: pip install --upgrade torch"
        )


def _unfit_for_fsdp() -> Iterator[str]:
    """Accelerate's settings of FSDP that cannot be followed, each with what is expected."""
    if (found := os.environ.get("FSDP_VERSION", "1")) != "2":
        yield f"version {found}; expected 2, which shares out each weight by itself"
    if _is_on("FSDP_OFFLOAD_PARAMS"):
        yield "parameters offloaded; expected false: shares stay on their device"
    if _is_on("FSDP_ACTIVATION_CHECKPOINTING"):
        yield (
            "activation checkpointing; expected false: the backbone's own is "
            "policy.compute.gradient_checkpointing"
        )


def _unfit(found: Mapping[str, Any], zero: Mapping[str, Any]) -> Iterator[str]:
    """What of a configuration cannot be done, each with what is expected."""
    if zero.get("stage") not in STAGES:
        yield f"ZeRO stage {zero.get('stage', 0)}; expected 1 or 2, which leave the weights whole"
    for name in ("offload_optimizer", "offload_param"):
        device = _part(zero, name).get("device", "none")
        if device != "none":
            yield f"{name} to {device}; expected none: what LoRA trains is small"
    for name in ("bf16", "fp16"):
        if _part(found, name).get("enabled") is True:
            yield (
                f"{name}, which would train in 16 bits; expected false or auto: the base's "
                "precision is policy.compute.precision, and trained weights are float32"
            )
    for name in ("optimizer", "scheduler"):
        if name in found:
            yield f"{name!r}; expected none: the settings of a run say how it is fitted"


def _flags() -> dict[str, Any]:
    """The configuration that `accelerate launch` hands over without a file."""
    stage = os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2")
    zero: dict[str, Any] = {"stage": int(stage) if stage.isdecimal() else stage}
    for name in ("offload_optimizer", "offload_param"):
        device = os.environ.get(f"ACCELERATE_DEEPSPEED_{name.upper()}_DEVICE", "none")
        zero[name] = {"device": device}
    return {"zero_optimization": zero}


def _file(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise BadInput(f"DeepSpeed's configuration {path} does not exist; {REMEDY}")
    found = read_json(path)
    if not isinstance(found, dict):
        raise BadInput(f"{path} is no configuration of DeepSpeed, which is an object; {REMEDY}")
    return found


def _part(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = found.get(name)
    return part if isinstance(part, dict) else {}


def _is_on(flag: str) -> bool:
    return os.environ.get(flag, "").lower() in ("1", "true", "yes")
