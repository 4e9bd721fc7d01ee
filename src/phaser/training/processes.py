"""The processes of one run, on Accelerate: as the user's launcher started them.

The policy says where it computes, and Accelerate follows: a policy on the CPU is trained by gloo
processes, one on a GPU by NCCL, with DistributedDataParallel in both, or with DeepSpeed's ZeRO or
FSDP where the user's `accelerate config` says so. Only the first process writes; the others wait
for it where they need what it wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import torch
from accelerate import Accelerator
from accelerate.utils import (
    DistributedType,
    GradientAccumulationPlugin,
    InitProcessGroupKwargs,
    gather_object,
    patch_environment,
)

from phaser.core.errors import BadInput
from phaser.core.policy import Policy
from phaser.core.processes import num_processes
from phaser.core.sharding import REMEDY, zero_stage

LONGEST_WAIT = timedelta(days=7)
"""The others wait while the first process records or stores; torch gives up after minutes."""
PARALLEL = (
    DistributedType.NO,
    DistributedType.MULTI_CPU,
    DistributedType.MULTI_GPU,
    DistributedType.DEEPSPEED,
)

Item = TypeVar("Item")


def accelerator_for(
    policy: Policy, *, trackers: Sequence[str] = (), folder: Path | None = None
) -> Accelerator:
    """The Accelerator of this process, on the device where the policy already is.

    trackers: names of trackers that will be told values.
    folder: where trackers that write files put them.
    """
    on_cpu = all(weight.device.type == "cpu" for _, weight in policy.named_parameters())
    sharded = zero_stage() is not None
    if sharded and on_cpu and torch.cuda.is_available():
        raise BadInput(
            "DeepSpeed would train on this machine's GPUs, but the policy is on the CPU; hide the "
            "GPUs (CUDA_VISIBLE_DEVICES=) or leave policy.compute.device at auto"
        )
    # FSDP is torch's own (`training.sharded`), which Accelerate would leave out on a CPU.
    with patch_environment(ACCELERATE_USE_FSDP="false"):
        made = Accelerator(
            # Accelerate would leave DeepSpeed out on a CPU without a word.
            cpu=on_cpu and not sharded,
            device_placement=False,
            # Both have one place, the settings of a run: a launcher's own would count twice.
            mixed_precision="no",
            gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=1),
            log_with=list(trackers) or None,
            project_dir=folder / "tensorboard" if trackers and folder is not None else None,
            kwargs_handlers=[
                InitProcessGroupKwargs(
                    backend="gloo" if sharded and on_cpu else None, timeout=LONGEST_WAIT
                )
            ],
        )
    if made.distributed_type not in PARALLEL:
        raise BadInput(
            f"accelerate is configured for {made.distributed_type.value}; expected one process, "
            f"multi-GPU (DDP), DeepSpeed ZeRO stage 1 or 2, or FSDP version 2: {REMEDY}"
        )
    if made.num_processes != num_processes():
        raise BadInput(
            f"{num_processes()} processes were launched, {made.num_processes} found each other; "
            "start them with `accelerate launch`"
        )
    return made


def from_all(accelerator: Accelerator, items: Sequence[Item]) -> list[Item]:
    """What all processes have, in the order of the processes; every process must ask."""
    if accelerator.num_processes == 1:
        return list(items)
    found: list[Item] = gather_object(list(items))
    return found
