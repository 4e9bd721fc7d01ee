"""The plan of a run: weights, memory of a GPU, operations, time, files, rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from phaser.core.errors import BadInput
from phaser.policies.openvla_oft.settings import OpenVlaOft
from phaser.policies.plan.gpus import GPUS, Gpu
from phaser.policies.plan.inventories import Settings, inventory, openvla_tokens, qwen_tokens
from phaser.policies.plan.layers import HALF, SINGLE, Block
from phaser.policies.plan.recipe import Recipe

RESERVE_BYTES = 2 * 10**9
"""Assumed for the driver's context, libraries and fragmentation."""
PAPER_GPU = GPUS["a800"]
PAPER_HOURS = {"openvla-oft": 28.0, "qwen-gr00t": 18.3, "qwen-oft": 16.2}
"""What the paper reports for 100,000 steps on two A800; for QwenOFT from "+1.2 h (7.4 %)"."""
PAPER_STEPS = 100_000
NAMES = {"OpenVlaOft": "openvla-oft", "QwenGr00t": "qwen-gr00t", "QwenOft": "qwen-oft"}


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
    plain_hours: float
    checkpointed_hours: float
    num_steps: int
    memory_frames: int
    """Frames of all tasks together that are kept for rehearsal."""
    memory_bytes: int
    """What they take as raw pixels; files are compressed."""
    adapter_bytes: int
    """A finished task: adapters, head and projectors."""
    resume_bytes: int
    """The middle of a task: the same with the optimiser's two moments."""
    num_rollouts: int
    max_policy_calls: int
    """Passes in all rollouts, if none succeeds before its last step."""

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
        return {
            **found,
            "parameters": self.parameters,
            "trained": self.trained,
            "fits": self.fits,
            "unknown": list(UNKNOWN),
        }


UNKNOWN = (
    "the simulator's time in rollouts, which depends on the machine's CPUs",
    "the true length of prompts in the checkpoint's tokenizer (assumed, see tokens per sample)",
    "reading and preparing images, and exchanging gradients between GPUs",
    "how well a GPU other than the paper's is used at so few samples per step",
    "the driver's own memory and fragmentation (2 GB are assumed)",
    "what a method adds: MIR and iCaRL cost more passes (docs/benchmarks-overhead.md)",
)


def plan(
    name: str,
    settings: Settings,
    recipe: Recipe,
    *,
    gpu: Gpu = GPUS["h100"],
    num_gpus: int = 2,
    utilisation: float | None = None,
) -> Plan:
    """Estimate a run.

    Args:
        name: What the plan is called.
        settings: The backbone's.
        recipe: The stream of tasks in numbers.
        gpu: The kind of GPU.
        num_gpus: Processes, each with one GPU.
        utilisation: Share of the peak that is reached; None: that of the paper's own runs.
    """
    if num_gpus < 1 or (utilisation is not None and not 0 < utilisation <= 1):
        raise BadInput(
            f"{num_gpus} GPUs, utilisation {utilisation}; expected at least 1 GPU and a share "
            "of the peak above 0 and at most 1"
        )
    policy, blocks = NAMES[type(settings).__name__], inventory(settings, recipe)
    if settings.lora is None:
        raise BadInput("the whole base is to be trained; plans are of runs with LoRA: set lora")
    rank = settings.lora.rank
    rows = recipe.rows_per_device
    forward, backward, again = _flops(blocks, rank)
    of_paper = utilisation is None
    if utilisation is None:
        utilisation = paper_utilisation(policy, forward + backward, rows)
    seconds = recipe.num_steps / (gpu.tflops * 1e12 * utilisation) / 3600
    trained = sum(block.sum("trained") for block in blocks)
    adapters = sum(block.sum("adapters", rank) for block in blocks if block.used)
    learnt = trained + adapters
    frames = recipe.num_tasks * recipe.frames_per_task
    calls = -(-recipe.step_limit // settings.chunk_length)
    kept, kept_with_checkpoints = _activations(blocks, rank)

    def memory(activations: int) -> GpuMemory:
        frozen = sum(block.sum("parameters") for block in blocks) - trained
        return GpuMemory(
            # Adapters are copied to bfloat16 for the pass.
            weights=HALF * frozen + SINGLE * learnt + HALF * adapters,
            gradients=SINGLE * learnt,
            optimiser=2 * SINGLE * learnt,
            activations=rows * activations,
            buckets=SINGLE * learnt if num_gpus > 1 else 0,
        )

    return Plan(
        name=name,
        policy=policy,
        gpu=gpu,
        num_gpus=num_gpus,
        parts=_parts(blocks, rank),
        adapters=adapters,
        tokens_per_sample=_tokens(settings, recipe),
        plain=memory(kept),
        checkpointed=memory(kept_with_checkpoints),
        plain_flops=rows * (forward + backward),
        checkpointed_flops=rows * (forward + backward + again),
        utilisation=utilisation,
        utilisation_of_paper=of_paper,
        plain_hours=seconds * rows * (forward + backward),
        checkpointed_hours=seconds * rows * (forward + backward + again),
        num_steps=recipe.num_steps,
        memory_frames=frames,
        memory_bytes=frames * _frame_bytes(settings, recipe),
        adapter_bytes=SINGLE * learnt,
        resume_bytes=3 * SINGLE * learnt,
        num_rollouts=recipe.num_rollouts,
        max_policy_calls=recipe.num_rollouts * calls,
    )


def paper_utilisation(policy: str, flops_per_sample: float, rows: int) -> float:
    """The share of an A800's peak that the paper's hours imply for this policy.

    Args:
        policy: Its name.
        flops_per_sample: Forward and backward pass.
        rows: Samples of one GPU in a step; the paper has four.
    """
    seconds_per_step = PAPER_HOURS[policy] * 3600 / PAPER_STEPS
    return min(1.0, 4 * flops_per_sample / (PAPER_GPU.tflops * 1e12 * seconds_per_step))


def _flops(blocks: Sequence[Block], rank: int) -> tuple[int, int, int]:
    """Forward, backward, and what gradient checkpointing computes again."""
    used = [block for block in blocks if block.used]
    return (
        sum(block.sum("forward_flops", rank) for block in used),
        sum(block.sum("backward_flops", rank) for block in used),
        sum(block.sum("forward_flops", rank) for block in used if block.entering),
    )


def _activations(blocks: Sequence[Block], rank: int) -> tuple[int, int]:
    """Bytes kept by a pass; with checkpointing blocks keep their inputs, and one is open."""
    used = [block for block in blocks if block.used]
    whole = sum(block.sum("kept_bytes", rank) for block in used)
    inputs = sum(HALF * block.times * block.entering for block in used)
    others = sum(block.sum("kept_bytes", rank) for block in used if not block.entering)
    open_block = max(
        (block.sum("kept_bytes", rank) // block.times for block in used if block.entering),
        default=0,
    )
    return whole, inputs + others + open_block


def _parts(blocks: Sequence[Block], rank: int) -> tuple[Part, ...]:
    names = dict.fromkeys(block.part for block in blocks)
    return tuple(
        Part(
            name=name,
            parameters=sum(block.sum("parameters") for block in blocks if block.part == name),
            trained=sum(
                block.sum("trained") + (block.sum("adapters", rank) if block.used else 0)
                for block in blocks
                if block.part == name
            ),
        )
        for name in names
    )


def _tokens(settings: Settings, recipe: Recipe) -> int:
    if isinstance(settings, OpenVlaOft):
        return openvla_tokens(settings, recipe)
    return qwen_tokens(settings, recipe)


def _frame_bytes(settings: Settings, recipe: Recipe) -> int:
    pixels = settings.num_cameras * recipe.image_size**2 * 3
    actions = settings.chunk_length * (recipe.action_size * SINGLE + 1)
    return pixels + recipe.state_size * SINGLE + actions
