"""The cells of the paper's main table as presets: three backbones on two suites, with its recipe.

10,000 steps per task, 2 current and 2 rehearsed frames on each of two GPUs, learning rate 5e-4 with
cosine decay after 5,000 steps, 50 rollouts per task by the protocol of the backbone. Demonstrations
are LIBERO's published ones.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phaser.experiments.run import Run

NUM_GPUS = 2
BASES = {
    "openvla-oft": ("openvla-oft", "openvla/openvla-7b"),
    "qwen-gr00t": ("starvla", "Qwen/Qwen2.5-VL-3B-Instruct"),
    "qwen-oft": ("starvla", "Qwen/Qwen2.5-VL-3B-Instruct"),
}
"""The protocol of each backbone, and the weights that it starts from."""
SUITES = ("libero-goal", "libero-long")
ANNOTATED = ("libero-goal",)
"""Suites whose phases the paper publishes."""


def paper_recipe() -> Any:
    """How the paper trains a task, on two GPUs."""
    from phaser.training.fit import Fit

    return Fit(
        steps_per_task=10_000,
        batch_size=4 * NUM_GPUS,
        rehearsed_share=0.5,
        learning_rate=5e-4,
        warm_up=0.0,  # the paper speaks of none
        decay_after=0.5,
        weight_decay=0.01,
        read_ahead=2,
        checkpoint_every_steps=500,
    )


def cell(backbone: str, suite: str) -> Run:
    """One cell of the main table; the method is the user's choice."""
    from phaser.encoders.table import POLICY, Encoders
    from phaser.experiments.run import Evaluation, Run
    from phaser.memory.budget import Budget
    from phaser.policies.loading.weights import Weights
    from phaser.policies.parts.compute import Compute
    from phaser.policies.plan.cells import CELLS
    from phaser.suites.libero.given import PUBLISHED
    from phaser.suites.libero.protocol import PROTOCOLS
    from phaser.suites.libero.suite import Libero

    name = f"{backbone}-{suite}"
    protocol, checkpoint = BASES[backbone]
    run = Run(
        preset=name,
        suite=Libero(
            task_list=suite,
            protocol=PROTOCOLS[protocol],
            demonstrations=PUBLISHED,
            statistics=True,
        ),
        policy=replace(
            CELLS[name].policy,
            weights=Weights(checkpoint=checkpoint),
            compute=Compute(precision="bfloat16", gradient_checkpointing=True),
        ),
        # The paper compares phases by the policy's own features on OpenVLA alone.
        encoders=Encoders(vision=POLICY) if backbone == "openvla-oft" else Encoders(),
        budget=Budget.per_task(CELLS[name].recipe.frames_per_task),
        fit=paper_recipe(),
        evaluation=Evaluation(rollouts_per_task=50, learnt_rollouts=50),
    )
    return run.with_phases(suite) if suite in ANNOTATED else run


def summary(backbone: str, suite: str) -> str:
    titles = {
        "openvla-oft": "OpenVLA-OFT-7B",
        "qwen-gr00t": "QwenGR00T-3B",
        "qwen-oft": "QwenOFT-3B",
    }
    where = suite.replace("libero-", "LIBERO-").replace("goal", "Goal").replace("long", "Long")
    return f"{titles[backbone]} on {where}, the paper's recipe; needs GPUs: see phaser plan"


def small(backbone: str) -> Run:
    """The backbone at about 4 M weights, trained from pixels, on ten Meta-World tasks in a row."""
    from phaser.experiments.run import Evaluation, Run
    from phaser.policies.lora import Lora
    from phaser.policies.parts.scaling import Scaling
    from phaser.policies.plan.cells import CELLS
    from phaser.suites.metaworld.suite import MetaWorld
    from phaser.training.fit import Fit

    settings = CELLS[f"{backbone}-{SUITES[0]}"].policy
    return Run(
        preset=f"{backbone}-small",
        suite=MetaWorld(task_list="metaworld-10"),
        policy=replace(
            settings,
            size="small",
            scaling=Scaling(rule="fixed"),
            # A rank of 32 would be a quarter of the width.
            lora=Lora(rank=8, alpha=16),
        ),
        fit=Fit(
            steps_per_task=100,
            batch_size=16,
            learning_rate=1e-3,
            warm_up=0.05,
            gradient_clip=1.0,
            read_ahead=1,
        ),
        evaluation=Evaluation(rollouts_per_task=5, learnt_rollouts=2),
    )


def base(backbone: str) -> Run:
    """Twenty other tasks, all at once, with all weights: what `small` may begin with.

    Ten demonstrations of each, 80 steps of 32 frames per task: a quarter of an hour of one core.
    """
    from phaser.methods.table import METHODS
    from phaser.suites.metaworld.recording import MetaWorldRecording
    from phaser.suites.metaworld.suite import MetaWorld
    from phaser.suites.metaworld.tasks import task_names

    start = small(backbone)
    names = (*task_names("metaworld-alt"), *task_names("metaworld-confirm"))
    return replace(
        start,
        preset=f"{backbone}-base",
        suite=MetaWorld(task_list=names, recording=MetaWorldRecording(num_train=10, num_heldout=2)),
        policy=replace(start.policy, lora=None),  # type: ignore[type-var]
        fit=replace(start.fit, steps_per_task=80, batch_size=32),
        evaluation=replace(start.evaluation, rollouts_per_task=3),
    ).with_method(METHODS["joint"])


SMALL = {
    f"{backbone}-small": (
        f"{backbone} at about 4 M weights on ten Meta-World tasks, on a CPU; best on a base of its "
        "own",
        partial(small, backbone),
    )
    for backbone in BASES
} | {
    f"{backbone}-base": (
        f"a base for {backbone}-small: twenty other tasks jointly, all weights trained",
        partial(base, backbone),
    )
    for backbone in BASES
}
"""Summary and maker by name."""
CELLS_OF_THE_TABLE = {
    f"{backbone}-{suite}": (summary(backbone, suite), partial(cell, backbone, suite))
    for backbone in BASES
    for suite in SUITES
}
"""Summary and maker by name."""
