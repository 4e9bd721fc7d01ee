"""The plan of a run: weights, memory of a GPU, operations, time, files, rollouts."""

from __future__ import annotations

from phaser.core.errors import BadInput
from phaser.policies.openvla_oft.settings import OpenVlaOft
from phaser.policies.plan.counting import Counted
from phaser.policies.plan.gpus import GPUS, Gpu
from phaser.policies.plan.inventories import Settings, inventory, openvla_tokens, qwen_tokens
from phaser.policies.plan.layers import HALF, SINGLE
from phaser.policies.plan.recipe import Recipe
from phaser.policies.plan.values import GpuMemory, Plan

PAPER_GPU = GPUS["a800"]
PAPER_HOURS = {"openvla-oft": 28.0, "qwen-gr00t": 18.3, "qwen-oft": 16.2}
"""The paper's hours for 100,000 steps on two A800; for QwenOFT from "+1.2 h (7.4 %)"."""
PAPER_STEPS = 100_000
NAMES = {"OpenVlaOft": "openvla-oft", "QwenGr00t": "qwen-gr00t", "QwenOft": "qwen-oft"}


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
    if settings.lora is None:
        raise BadInput("the whole base is to be trained; plans are of runs with LoRA: set lora")
    policy = NAMES[type(settings).__name__]
    counted = Counted.of(inventory(settings, recipe), settings.lora.rank)
    rows = recipe.rows_per_device
    implied = paper_utilisation(policy, counted.flops)
    frames = recipe.num_tasks * recipe.frames_per_task
    calls = -(-recipe.step_limit // settings.chunk_length)
    return Plan(
        name=name,
        policy=policy,
        gpu=gpu,
        num_gpus=num_gpus,
        parts=counted.parts,
        adapters=counted.adapters,
        tokens_per_sample=_tokens(settings, recipe),
        plain=_memory(counted, rows * counted.kept, num_gpus),
        checkpointed=_memory(counted, rows * counted.kept_with_checkpoints, num_gpus),
        plain_flops=rows * counted.flops,
        checkpointed_flops=rows * counted.flops_with_checkpoints,
        utilisation=implied if utilisation is None else utilisation,
        utilisation_of_paper=utilisation is None,
        num_steps=recipe.num_steps,
        memory_frames=frames,
        memory_bytes=frames * _frame_bytes(settings, recipe),
        adapter_bytes=SINGLE * counted.learnt,
        num_rollouts=recipe.num_rollouts,
        max_policy_calls=recipe.num_rollouts * calls,
    )


def paper_utilisation(policy: str, flops_per_sample: float) -> float:
    """The share of an A800's peak that the paper's hours imply, with its four samples per GPU.

    Args:
        policy: Its name.
        flops_per_sample: Forward and backward pass.
    """
    seconds_per_step = PAPER_HOURS[policy] * 3600 / PAPER_STEPS
    return min(1.0, 4 * flops_per_sample / (PAPER_GPU.tflops * 1e12 * seconds_per_step))


def _memory(counted: Counted, activations: int, num_gpus: int) -> GpuMemory:
    learnt = counted.learnt
    return GpuMemory(
        # Adapters are copied to bfloat16 for the pass.
        weights=HALF * counted.frozen + SINGLE * learnt + HALF * counted.adapters,
        gradients=SINGLE * learnt,
        optimiser=2 * SINGLE * learnt,
        activations=activations,
        buckets=SINGLE * learnt if num_gpus > 1 else 0,
    )


def _tokens(settings: Settings, recipe: Recipe) -> int:
    if isinstance(settings, OpenVlaOft):
        return openvla_tokens(settings, recipe)
    return qwen_tokens(settings, recipe)


def _frame_bytes(settings: Settings, recipe: Recipe) -> int:
    pixels = settings.num_cameras * recipe.image_size**2 * 3
    actions = settings.chunk_length * (recipe.action_size * SINGLE + 1)
    return pixels + recipe.state_size * SINGLE + actions
