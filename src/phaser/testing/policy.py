"""Check a policy: honest per-sample losses, repeatable actions, weights that survive a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float
from safetensors.torch import load, save
from torch import Tensor

from phaser.core.demonstration import ActionLayout, Demo
from phaser.core.ports import Observation, Policy
from phaser.core.streams import Stream, Streams
from phaser.testing.verdict import require
from phaser.training.batch import Batch
from phaser.training.fit import Trainable
from phaser.training.frames import FrameTable, TaskFrames

INSTRUCTION = "push the cup to the left"
NUM_FRAMES = 12
NOISE = Streams(0).named("noise")


class TorchPolicy(Policy, Trainable, Protocol):
    """A policy as the learner and the checkpoints use it."""

    def frame_inputs(self, images: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]: ...

    def embed(self, instruction: str) -> Float[np.ndarray, "language"]: ...

    def state_dict(self) -> dict[str, Tensor]: ...

    def load_state_dict(self, weights: Mapping[str, Tensor]) -> object: ...


def check_policy(make: Callable[[Stream], TorchPolicy]) -> None:
    """Build the policy from streams, feed it made-up frames, hold it against the port."""
    policy = make(Streams(0).named("weights"))
    require(isinstance(policy, Policy), policy, "has no contract or act; see phaser.core.ports")
    require(
        json.loads(json.dumps(policy.contract)) == policy.contract,
        policy,
        "its contract changes when written as JSON; use lists, numbers and text only",
    )
    _check_weights(policy, make)
    _check_losses(policy, _batch(policy))
    _check_actions(policy)
    _check_file(policy, make(Streams(1).named("weights")))


def _check_weights(policy: TorchPolicy, make: Callable[[Stream], TorchPolicy]) -> None:
    same, other = (make(Streams(seed).named("weights")) for seed in (0, 1))
    require(_same(policy, same), policy, "fresh weights differ for one stream")
    require(not _same(policy, other), policy, "fresh weights are the same for two streams")


def _check_losses(policy: TorchPolicy, batch: Batch) -> None:
    losses = policy(batch, NOISE)
    require(
        losses.shape == (len(batch),),
        policy,
        f"losses of shape {tuple(losses.shape)} for {len(batch)} samples, expected one per sample",
    )
    require(bool(losses.isfinite().all()), policy, f"losses {losses.tolist()}, expected finite")
    require(losses.requires_grad, policy, "losses without a gradient cannot be trained on")
    require(
        torch.equal(losses, policy(batch, NOISE)), policy, "one batch and stream gave two losses"
    )
    ahead = batch.actions.clone()
    ahead[0] += 1.0
    moved = policy(replace(batch, actions=ahead), NOISE) - losses
    require(
        bool(moved[0].abs() > 1e-4) and bool((moved[1:].abs() < 1e-5).all()),
        policy,
        "the loss of a sample depends on another sample's actions, or not on its own",
    )
    shorter = batch.valid.clone()
    shorter[0, -1] = False
    moved = policy(replace(batch, valid=shorter), NOISE) - losses
    require(
        bool(moved[0].abs() > 1e-6) and bool((moved[1:].abs() < 1e-6).all()),
        policy,
        "the loss counts actions beyond the end of the demonstration; mask them by batch.valid",
    )


def _check_actions(policy: TorchPolicy) -> None:
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    observations, streams = _observations(policy), [NOISE, Streams(0).named("other noise")]
    chunks = policy.act(observations, streams)
    expected = (2, policy.contract["chunk_length"], len(policy.contract["action"]))
    require(chunks.shape == expected, policy, f"chunks {chunks.shape}, expected {expected}")
    require(bool(np.isfinite(chunks).all()), policy, "actions hold NaN or infinity")
    require(
        np.array_equal(chunks, policy.act(observations, streams)),
        policy,
        "the same observations and streams gave other actions",
    )
    alone = policy.act(observations[1:], streams[1:])
    require(
        np.allclose(chunks[1:], alone, atol=1e-4),
        policy,
        "an action depends on what else is in the batch",
    )
    after = policy.state_dict()
    require(
        all(torch.equal(value, after[name]) for name, value in before.items()),
        policy,
        "acting changed the weights",
    )


def _check_file(policy: TorchPolicy, fresh: TorchPolicy) -> None:
    weights = {name: value.contiguous() for name, value in policy.state_dict().items()}
    fresh.load_state_dict(load(save(weights)))
    seen, streams = _observations(policy), [NOISE, NOISE]
    require(
        np.array_equal(policy.act(seen, streams), fresh.act(seen, streams)),
        policy,
        "acts differently after its weights went through a file; is part of it not in state_dict?",
    )


def _same(one: TorchPolicy, two: TorchPolicy) -> bool:
    ours, theirs = one.state_dict(), two.state_dict()
    return ours.keys() == theirs.keys() and all(
        torch.equal(value, theirs[name]) for name, value in ours.items()
    )


def _batch(policy: TorchPolicy) -> Batch:
    contract = policy.contract
    rng = Streams(0).named("batch")()
    demo = Demo(
        task="push",
        index=0,
        actions=rng.uniform(-1, 1, (NUM_FRAMES, len(contract["action"]))),
        states=rng.uniform(-1, 1, (NUM_FRAMES, len(contract["state"]))),
        layout=ActionLayout(motion=tuple(contract["motion"]), gripper=tuple(contract["gripper"])),
    )
    frames = TaskFrames.of(
        [demo],
        policy.frame_inputs(_images(contract, NUM_FRAMES)),
        language=policy.embed(INSTRUCTION),
        chunk_length=contract["chunk_length"],
    )
    return FrameTable({"push": frames}).batch(frames.refs("push"))


def _observations(policy: TorchPolicy) -> list[Observation]:
    images = _images(policy.contract, 2)
    states = Streams(0).named("states")().uniform(-1, 1, (2, len(policy.contract["state"])))
    return [
        Observation(
            images={camera: rows[k] for camera, rows in images.items()},
            state=states[k].astype(np.float32),
            instruction=INSTRUCTION,
        )
        for k in range(2)
    ]


def _images(contract: Mapping[str, Any], count: int) -> dict[str, np.ndarray]:
    rng = Streams(0).named("images")()
    shape = (count, *contract["image_size"], 3)
    return {camera: rng.integers(0, 256, shape, dtype=np.uint8) for camera in contract["cameras"]}
