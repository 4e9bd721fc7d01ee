"""A made-up suite with two cameras, rows of its frames, and the three backbones, tiny."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from phaser.core.contract import Contract, Statistics
from phaser.core.demonstration import ActionLayout
from phaser.core.policy import Observation
from phaser.core.samples import Samples
from phaser.core.streams import Streams
from phaser.policies.lora import BACKBONES_MISSING, Lora
from phaser.policies.openvla_oft.settings import OpenVlaOft
from phaser.policies.parts.scaling import Scaling
from phaser.policies.qwen_gr00t.settings import QwenGr00t
from phaser.policies.qwen_oft.settings import QwenOft

WEIGHTS, NOISE = Streams(0).named("weights"), Streams(0).named("noise")
INSTRUCTIONS = ("open the drawer", "put the red bowl on the plate", "push it", "close the drawer")
CAMERAS = ("front", "wrist")


def statistics(size):
    return Statistics(
        mean=(0.0,) * size,
        std=(0.5,) * size,
        min=(-1.0,) * size,
        max=(1.0,) * size,
        q01=(-0.8,) * size,
        q99=(0.9,) * size,
    )


CONTRACT = Contract(
    suite="made-up",
    cameras=CAMERAS,
    image_size=(32, 32),
    state=("x", "y", "z", "grip", "turn"),
    state_centre=(0.0,) * 5,
    state_scale=(1.0,) * 5,
    action=("dx", "dy", "dz", "close"),
    layout=ActionLayout(motion=(0, 1, 2), gripper=(3,)),
    state_statistics=statistics(5),
    action_statistics=statistics(4),
)
SMALL = {"size": "tiny", "chunk_length": 4, "lora": Lora(rank=4, alpha=8)}
SHORT = "do: {instruction}"
BACKBONES = {
    "openvla-oft": OpenVlaOft(**SMALL),
    "qwen-gr00t": QwenGr00t(**SMALL, prompt=SHORT),
    "qwen-oft": QwenOft(**SMALL, prompt=SHORT),
}


def require_backbones(*, whole_file=True):
    """Skip a file or a test, with one line that says what it needs."""
    if find_spec("transformers") is None or find_spec("peft") is None:
        pytest.skip(BACKBONES_MISSING, allow_module_level=whole_file)


def fixed(settings):
    """The same policy without statistics: actions are as they are."""
    return replace(settings, scaling=Scaling(rule="fixed"))


def samples(count, seed=0, chunk_length=4):
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-0.7, 0.7, (count, chunk_length, 4)).astype(np.float32)
    actions[..., 3] = rng.integers(0, 2, (count, chunk_length))
    valid = np.ones((count, chunk_length), bool)
    valid[-1, -1] = False
    return Samples(
        images={name: rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8) for name in CAMERAS},
        states=rng.uniform(-0.7, 0.7, (count, 5)).astype(np.float32),
        instructions=tuple(INSTRUCTIONS[k % len(INSTRUCTIONS)] for k in range(count)),
        actions=actions,
        valid=valid,
    )


def rows(found, chosen):
    """These rows in this order, with their places in the whole batch."""
    chosen = np.asarray(chosen)
    return replace(
        found,
        images={name: one[chosen] for name, one in found.images.items()},
        states=found.states[chosen],
        instructions=tuple(found.instructions[k] for k in chosen),
        actions=found.actions[chosen],
        valid=found.valid[chosen],
        places=chosen,
        num_places=len(found),
    )


def observations(found):
    return [
        Observation(
            images={name: one[k] for name, one in found.images.items()},
            state=found.states[k],
            instruction=found.instructions[k],
        )
        for k in range(len(found))
    ]


def streams(count, seed=0):
    return [Streams(seed).named("act", k) for k in range(count)]
