"""GPUs by name, with their makers' figures."""

from __future__ import annotations

from dataclasses import dataclass

from phaser.core.errors import UnknownName


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """A GPU as its data sheet describes it."""

    name: str
    memory_gb: float
    """Gigabytes of 10^9 bytes, rounded down to what programs can use."""
    tflops: float
    """10^12 dense bfloat16 operations per second at most."""


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu(name="a100-40", memory_gb=40, tflops=312),
        Gpu(name="a100", memory_gb=80, tflops=312),
        Gpu(name="a800", memory_gb=80, tflops=312),
        Gpu(name="h100", memory_gb=80, tflops=989),
        Gpu(name="h200", memory_gb=141, tflops=989),
        Gpu(name="l40s", memory_gb=48, tflops=362),
        Gpu(name="a6000", memory_gb=48, tflops=155),
        Gpu(name="rtx-4090", memory_gb=24, tflops=165),
        Gpu(name="rtx-3090", memory_gb=24, tflops=71),
    )
}
"""a100, a800 and h100 are the SXM ones of 80 GB."""


def gpu_named(name: str) -> Gpu:
    if name not in GPUS:
        raise UnknownName("GPU", name, GPUS)
    return GPUS[name]
