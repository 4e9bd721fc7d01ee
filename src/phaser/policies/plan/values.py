"""A plan as a value: what is known of a run before it starts, and what is not."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from phaser.core.errors import BadInput
from phaser.policies.plan.gpus import Gpu

RESERVE_BYTES = 2 * 10**9
"""Assumed for the driver's context, libraries and fragmentation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part of the network by its numbers of weights."""

    name: str
    parameters: int
    trained: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuMemory:
    """Bytes on one GPU at the height of a training step."""

    weights: int
    gradients: int
    optimiser: int
    activations: int
    buckets: int
    """Copies of gradients by which processes exchange them."""
    reserve: int = RESERVE_BYTES

    @property
    def total(self) -> int:
        return (
            self.weights
            + self.gradients
            + self.optimiser
            + self.activations
            + self.buckets
            + self.reserve
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """All that is known of a run before it starts; bytes, operations, hours."""

    name: str
    policy: str
    gpu: Gpu
    num_gpus: int
    parts: tuple[Part, ...]
    adapters: int
    """Weights of LoRA, which are part of `trained`."""
    tokens_per_sample: int
    plain: GpuMemory
    checkpointed: GpuMemory
    """The same with gradient checkpointing."""
    plain_flops: float
    """Operations of a step of one GPU."""
    checkpointed_flops: float
    utilisation: float
    """Share of the GPU's peak that is assumed to be reached."""
    utilisation_of_paper: bool
    """The share is the one that the paper's own hours imply."""
    num_steps: int
    memory_frames: int
    """Frames of all tasks together that are kept for rehearsal."""
    memory_bytes: int
    """Their size as raw pixels; files are compressed."""
    adapter_bytes: int
    """A finished task: adapters, head and projectors."""
    num_rollouts: int
    max_policy_calls: int
    """Passes in all rollouts, if none succeeds before its last step."""

    def __post_init__(self) -> None:
        if self.num_gpus < 1 or not 0 < self.utilisation <= 1:
            raise BadInput(
                f"{self.num_gpus} GPUs, utilisation {self.utilisation}; expected at least 1 GPU "
                "and a share of the peak above 0 and at most 1"
            )

    @property
    def plain_hours(self) -> float:
        return self._hours(self.plain_flops)

    @property
    def checkpointed_hours(self) -> float:
        return self._hours(self.checkpointed_flops)

    @property
    def resume_bytes(self) -> int:
        """The middle of a task: the same with the optimiser's two moments."""
        return 3 * self.adapter_bytes

    @property
    def parameters(self) -> int:
        return sum(part.parameters for part in self.parts)

    @property
    def trained(self) -> int:
        return sum(part.trained for part in self.parts)

    @property
    def fits(self) -> bool:
        return self.checkpointed.total <= self.gpu.memory_gb * 1e9

    def require_fit(self) -> None:
        """One line where the GPU is too small even with gradient checkpointing."""
        if not self.fits:
            raise BadInput(
                f"{self.name} needs {self.checkpointed.total / 1e9:.1f} GB on each GPU with "
                f"gradient checkpointing, {self.gpu.name} has {self.gpu.memory_gb:.0f} GB; choose "
                "a larger GPU or fewer samples per device"
            )

    def to_json(self) -> dict[str, Any]:
        """The plan with its sums."""
        found = asdict(self)
        for name in ("plain", "checkpointed"):
            found[name]["total"] = getattr(self, name).total
        sums = (
            "parameters",
            "trained",
            "plain_hours",
            "checkpointed_hours",
            "resume_bytes",
            "fits",
        )
        found |= {name: getattr(self, name) for name in sums}
        return {**found, "unknown": list(UNKNOWN)}

    def _hours(self, flops_per_step: float) -> float:
        per_second = self.gpu.tflops * 1e12 * self.utilisation
        return self.num_steps * flops_per_step / per_second / 3600


UNKNOWN = (
    "the simulator's time in rollouts, which depends on the machine's CPUs",
    "the true length of prompts in the checkpoint's tokenizer (assumed, see tokens per sample)",
    "reading and preparing images, and exchanging gradients between GPUs",
    "how well a GPU other than the paper's is used at so few samples per step",
    "the driver's own memory and fragmentation (2 GB are assumed)",
    "what a method adds: MIR and iCaRL cost more passes (docs/benchmarks-overhead.md)",
)
