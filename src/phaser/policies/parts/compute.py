"""Where and how a backbone computes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, get_args

from phaser.core.errors import BadInput
from phaser.core.processes import num_processes
from phaser.core.ranges import COUNT, check_ranges

Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Compute:
    """Device, precision and what memory is traded for."""

    device: str = "auto"
    """"auto": this process's GPU if there is one, else the CPU; or a device such as cuda:1, for a
    run in one process. With use_cpu in the user's `accelerate config` auto is the CPU."""
    precision: Precision = "float32"
    """Precision of the frozen base and of its passes. Trained weights are always float32."""
    gradient_checkpointing: bool = False
    """Compute each layer again in the backward pass instead of keeping what it made."""
    act_rows: int = 1
    """Observations in one pass when acting. With 1 an action has the same bits whatever else is
    asked at that moment; more is faster on a GPU and rounds differently with the batch."""

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision):
            raise BadInput(
                f"precision {self.precision!r}; expected one of {', '.join(get_args(Precision))}"
            )
        check_ranges(self, act_rows=COUNT)

    def device_here(self) -> str:
        """The device's name in this process."""
        if self.device not in ("auto", "cpu") and num_processes() > 1:
            raise BadInput(
                f"device {self.device!r} in a run of {num_processes()} processes, which would "
                "share it; leave it at auto"
            )
        if self.device != "auto":
            return self.device
        import torch

        said = os.environ.get("ACCELERATE_USE_CPU", "").lower()
        if said in ("1", "true", "yes") or not torch.cuda.is_available():
            return "cpu"
        return f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
