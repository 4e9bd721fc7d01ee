"""Plans as text: a table of several, or all that is known of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phaser.cli.text_table import columns, file_size
from phaser.policies.plan.estimate import PAPER_HOURS
from phaser.policies.plan.values import UNKNOWN, GpuMemory, Plan


def table(plans: Sequence[Plan]) -> list[str]:
    """One line for each plan, then what is assumed and what is not known."""
    header = (
        "run",
        "weights",
        "trained",
        "GPU memory",
        "checkpointed",
        "per step",
        "hours",
        "frames kept",
        "as pixels",
        "a checkpoint",
        "rollouts",
    )
    rows = [
        (
            one.name,
            _millions(one.parameters),
            _millions(one.trained),
            f"{one.plain.total / 1e9:.1f} GB",
            f"{one.checkpointed.total / 1e9:.1f} GB",
            f"{one.plain_flops / 1e12:.1f} TFLOP",
            f"{one.plain_hours:.1f} to {one.checkpointed_hours:.1f}",
            f"{one.memory_frames:,}",
            file_size(one.memory_bytes),
            file_size(one.adapter_bytes),
            f"{one.num_rollouts:,}",
        )
        for one in plans
    ]
    gpu, count = plans[0].gpu, plans[0].num_gpus
    return [
        f"{count} × {gpu.name} ({gpu.memory_gb:.0f} GB, {gpu.tflops:.0f} TFLOP/s bfloat16)",
        "",
        *columns([header, *rows], right=range(1, len(header))),
        "",
        *_notes(plans),
    ]


def details(found: Plan) -> list[str]:
    """All numbers of one plan."""
    parts = [
        ("part", "weights", "trained"),
        *((part.name, _millions(part.parameters), _millions(part.trained)) for part in found.parts),
        ("all", _millions(found.parameters), _millions(found.trained)),
    ]
    memory = [
        ("on each GPU", "plain", "checkpointed"),
        *_memory_rows(found.plain, found.checkpointed),
    ]
    gpu = found.gpu
    facts = [
        ("adapters (LoRA)", _millions(found.adapters)),
        ("tokens per sample", str(found.tokens_per_sample)),
        ("steps", f"{found.num_steps:,}"),
        ("operations per step and GPU", f"{found.plain_flops / 1e12:.1f} TFLOP"),
        ("  with checkpointing", f"{found.checkpointed_flops / 1e12:.1f} TFLOP"),
        ("training", f"{found.plain_hours:.1f} h"),
        ("  with checkpointing", f"{found.checkpointed_hours:.1f} h"),
        ("memory of frames", f"{found.memory_frames:,} ({file_size(found.memory_bytes)} raw)"),
        ("checkpoint of a task", file_size(found.adapter_bytes)),
        ("checkpoint within a task", file_size(found.resume_bytes)),
        ("rollouts", f"{found.num_rollouts:,}, at most {found.max_policy_calls:,} policy calls"),
    ]
    return [
        f"{found.name} on {found.num_gpus} × {gpu.name} "
        f"({gpu.memory_gb:.0f} GB, {gpu.tflops:.0f} TFLOP/s bfloat16)",
        "",
        *columns(parts, right=(1, 2)),
        "",
        *columns(memory, right=(1, 2)),
        "",
        *columns(facts),
        "",
        *_notes([found]),
    ]


def _memory_rows(plain: GpuMemory, checkpointed: GpuMemory) -> Iterator[tuple[str, str, str]]:
    for name in ("weights", "gradients", "optimiser", "activations", "buckets", "reserve", "total"):
        one, two = getattr(plain, name), getattr(checkpointed, name)
        yield name, f"{one / 1e9:.1f} GB", f"{two / 1e9:.1f} GB"


def _notes(plans: Sequence[Plan]) -> Iterator[str]:
    for policy in dict.fromkeys(one.policy for one in plans):
        one = next(one for one in plans if one.policy == policy)
        source = f"as the paper's {PAPER_HOURS[policy]:g} h on two A800 imply"
        yield (
            f"hours of {policy}: the GPU is assumed to reach {one.utilisation:.0%} of its peak, "
            f"{source if one.utilisation_of_paper else 'as given'}"
        )
    yield "not known:"
    for line in UNKNOWN:
        yield f"- {line}"


def _millions(count: int) -> str:
    return f"{count / 1e6:,.1f} M"
