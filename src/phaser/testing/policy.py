"""Check a policy: everything that `core.policy.Policy` promises, on made-up frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from safetensors.torch import load, save

from phaser.core.contract import Contract
from phaser.core.demonstration import ActionLayout
from phaser.core.policy import NotOffered, Observation, Policy, PolicySettings
from phaser.core.samples import Samples
from phaser.core.streams import Stream, Streams
from phaser.methods.evaluating import evaluating
from phaser.testing.verdict import require

INSTRUCTIONS = ("push the cup to the left", "open the drawer")
NOISE = Streams(0).named("noise")
NUM_ROWS = 6

MADE_UP = Contract(
    suite="made-up",
    cameras=("front", "wrist"),
    image_size=(96, 96),
    state=("x", "y", "z", "gripper"),
    state_centre=(0.0, 0.0, 0.0, 0.5),
    state_scale=(1.0, 1.0, 1.0, 0.5),
    action=("dx", "dy", "dz", "gripper"),
    layout=ActionLayout(motion=(0, 1, 2), gripper=(3,)),
)


def check_policy(
    settings: PolicySettings, contract: Contract = MADE_UP, *, tolerance: float = 1e-4
) -> None:
    """Build the policy, feed it made-up frames, hold it against the port.

    contract: what it is built for; give one that the policy knows, if it asks for special cameras.
    tolerance: how far a loss or an action may move by what else is in the batch.
    """
    require(isinstance(settings, PolicySettings), settings, "lacks build or front_end")
    policy = settings.build(contract, Streams(0).named("weights"))
    require(isinstance(policy, Policy), policy, f"lacks {_lacking(policy)}; see phaser.core.policy")
    require(isinstance(policy, torch.nn.Module), policy, "is no torch module")
    _check_contract(policy, contract)
    _check_weights(policy, lambda seed: settings.build(contract, Streams(seed).named("weights")))
    samples = made_up_samples(policy, contract)
    _check_losses(policy, samples, tolerance)
    _check_gradients(policy, samples)
    _check_actions(policy, contract, tolerance)
    _check_optional(policy, samples, tolerance)
    _check_file(policy, settings.build(contract, Streams(1).named("weights")), contract)


def made_up_samples(policy: Policy, contract: Contract = MADE_UP) -> Samples:
    """Frames of two tasks with chunks of actions; the last chunk ends early."""
    draw = Streams(0).named("samples")()
    images = _images(contract, NUM_ROWS)
    chunk = (NUM_ROWS, int(policy.contract["chunk_length"]))
    valid = np.ones(chunk, bool)
    valid[-1, chunk[1] // 2 + 1 :] = False
    front_end = policy.front_end
    return Samples(
        images=images if front_end is None else front_end(images),
        states=draw.uniform(-1, 1, (NUM_ROWS, len(contract.state))).astype(np.float32),
        instructions=tuple(INSTRUCTIONS[row % 2] for row in range(NUM_ROWS)),
        actions=draw.uniform(-1, 1, (*chunk, len(contract.action))).astype(np.float32),
        valid=valid,
    )


def _check_contract(policy: Policy, contract: Contract) -> None:
    found = dict(policy.contract)
    require(
        json.loads(json.dumps(found)) == found,
        policy,
        "its contract changes when written as JSON; use lists, numbers and text only",
    )
    for name in ("chunk_length", "policy"):
        require(name in found, policy, f"its contract has no {name!r}")
    same = {name: found.get(name) for name in contract.to_json()}
    require(
        all(
            same[name] == value
            for name, value in contract.to_json().items()
            if name not in ("state_statistics", "action_statistics")
        ),
        policy,
        "its contract differs from the suite's",
    )


def _check_weights(policy: Policy, make: Callable[[int], Policy]) -> None:
    require(_same(policy, make(0)), policy, "fresh weights differ for one stream")
    require(not _same(policy, make(1)), policy, "fresh weights are the same for two streams")
    trained = {name for name, weight in policy.named_parameters() if weight.requires_grad}
    require(bool(trained), policy, "has no weight that training could move")
    held = len(policy.trained_state())
    require(held >= 1, policy, "trained_state() is empty")
    grouped = [weight for group in policy.parameter_groups() for weight in group.parameters]
    known = {id(weight) for _, weight in policy.named_parameters() if weight.requires_grad}
    require(
        known <= {id(weight) for weight in grouped},
        policy,
        "parameter_groups() leaves out weights that require a gradient",
    )
    require(
        len({id(weight) for weight in grouped}) == len(grouped),
        policy,
        "parameter_groups() names a weight twice",
    )


def _check_losses(policy: Policy, samples: Samples, tolerance: float) -> None:
    with evaluating(policy):
        losses = policy(policy.batch(samples), NOISE)
        require(
            tuple(losses.shape) == (len(samples),),
            policy,
            f"losses of shape {tuple(losses.shape)} for {len(samples)} samples, expected one each",
        )
        require(bool(losses.isfinite().all()), policy, f"losses {losses.tolist()}, expected finite")
        require(losses.requires_grad, policy, "losses without a gradient cannot be trained on")
        again = policy(policy.batch(samples), NOISE)
        require(torch.equal(losses, again), policy, "one batch and stream gave two losses")
        for row in range(len(samples)):
            one = replace(
                samples.rows(slice(row, row + 1)),
                places=np.array([row]),
                num_places=len(samples),
            )
            alone = float(policy(policy.batch(one), NOISE)[0].detach())
            inside = float(losses[row].detach())
            require(
                abs(alone - inside) <= tolerance * max(1.0, abs(alone)),
                policy,
                f"sample {row} has the loss {inside} in a batch and {alone} alone, at "
                "the same place of the global batch",
            )
        _check_what_counts(policy, samples, losses, tolerance)


def _check_what_counts(
    policy: Policy, samples: Samples, losses: torch.Tensor, tolerance: float
) -> None:
    """A sample's own actions count, as far as they are valid; those of others do not.

    A policy may still read actions beyond the end, as flow matching does with the whole noised
    chunk; its loss must not count how well it meets them.
    """
    changed = samples.actions.copy()
    changed[0] = np.clip(changed[0] + 0.5, -1, 1)
    moved = policy(policy.batch(replace(samples, actions=changed)), NOISE) - losses
    require(bool(moved[0].abs() > 1e-5), policy, "the loss does not depend on the actions")
    require(
        bool((moved[1:].abs() <= tolerance).all()),
        policy,
        "the loss of a sample depends on another sample's actions",
    )
    if samples.valid.shape[1] == 1:
        return
    shorter = samples.valid.copy()
    shorter[0, shorter.shape[1] // 2 :] = False
    moved = policy(policy.batch(replace(samples, valid=shorter)), NOISE) - losses
    require(
        bool(moved[0].abs() > 1e-6) and bool((moved[1:].abs() <= tolerance).all()),
        policy,
        "the loss counts actions beyond the end of the demonstration; mask them by samples.valid",
    )


def _check_gradients(policy: Policy, samples: Samples) -> None:
    policy.train()
    policy(policy.batch(samples, augment=NOISE), NOISE).sum().backward()
    missing = [
        name
        for name, weight in policy.named_parameters()
        if weight.requires_grad and weight.grad is None
    ]
    require(
        not missing,
        policy,
        f"{', '.join(missing[:3])} require a gradient and get none; freeze what is not used",
    )
    for _, weight in policy.named_parameters():
        weight.grad = None
    policy.eval()


def _check_actions(policy: Policy, contract: Contract, tolerance: float) -> None:
    before = {name: value.clone() for name, value in policy.trained_state().items()}
    observations = _observations(contract)
    streams = [NOISE, Streams(0).named("other noise")]
    chunks = policy.act(observations, streams)
    expected = (2, policy.contract["chunk_length"], len(contract.action))
    require(chunks.shape == expected, policy, f"chunks {chunks.shape}, expected {expected}")
    require(bool(np.isfinite(chunks).all()), policy, "actions hold NaN or infinity")
    require(
        np.array_equal(chunks, policy.act(observations, streams)),
        policy,
        "the same observations and streams gave other actions",
    )
    require(
        np.allclose(chunks[1:], policy.act(observations[1:], streams[1:]), atol=tolerance),
        policy,
        "an action depends on what else is in the batch",
    )
    other = [replace(one, instruction=INSTRUCTIONS[1]) for one in observations]
    require(
        not np.array_equal(chunks, policy.act(other, streams)),
        policy,
        "another instruction gave the same actions",
    )
    after = policy.trained_state()
    require(
        all(torch.equal(value, after[name]) for name, value in before.items()),
        policy,
        "acting changed the weights",
    )


def _check_optional(policy: Policy, samples: Samples, tolerance: float) -> None:
    """What a policy says it offers, it has; what it does not, it refuses in one line."""
    for name in ("features", "outputs"):
        ask = getattr(policy, name)
        with evaluating(policy):
            if name not in policy.offers:
                try:
                    ask(policy.batch(samples))
                except NotOffered:
                    continue
                require(False, policy, f"{name}() works, but is not among what the policy offers")
            found = ask(policy.batch(samples))
            fewer = ask(policy.batch(samples.first(2)))
        require(len(found) == len(samples), policy, f"{name}() gave {len(found)} rows")
        require(
            torch.allclose(found[:2], fewer, atol=tolerance, rtol=tolerance),
            policy,
            f"{name}() of a sample depends on what else is in the batch",
        )
        if name == "outputs":
            require(
                tuple(found.shape) == samples.actions.shape,
                policy,
                f"outputs() of shape {tuple(found.shape)}, expected {samples.actions.shape}",
            )


def _check_file(policy: Policy, fresh: Policy, contract: Contract) -> None:
    weights = {name: value.contiguous() for name, value in policy.trained_state().items()}
    fresh.load_trained_state(load(save(weights)))
    seen, streams = _observations(contract), [NOISE, NOISE]
    # Whatever is frozen must not depend on the stream of fresh weights, or it belongs to the state.
    require(
        np.array_equal(policy.act(seen, streams), fresh.act(seen, streams)),
        policy,
        "acts differently after its weights went through a file; is part of it not in "
        "trained_state()?",
    )


def _lacking(policy: object) -> str:
    names = [name for name in dir(Policy) if not name.startswith("_")]
    return ", ".join(name for name in names if not hasattr(policy, name)) or "nothing that is named"


def _same(one: Policy, two: Policy) -> bool:
    ours, theirs = one.trained_state(), two.trained_state()
    return ours.keys() == theirs.keys() and all(
        torch.equal(value, theirs[name]) for name, value in ours.items()
    )


def _observations(contract: Contract) -> list[Observation]:
    images = _images(contract, 2)
    states = Streams(0).named("states")().uniform(-1, 1, (2, len(contract.state)))
    return [
        Observation(
            images={camera: rows[k] for camera, rows in images.items()},
            state=states[k].astype(np.float32),
            instruction=INSTRUCTIONS[0],
        )
        for k in range(2)
    ]


def _images(contract: Contract, count: int) -> dict[str, np.ndarray]:
    draw = Streams(0).named("images")()
    shape = (count, *contract.image_size, 3)
    return {camera: draw.integers(0, 256, shape, dtype=np.uint8) for camera in contract.cameras}


def stream_of(seed: int) -> Stream:
    """The stream from which `check_policy` builds a policy."""
    return Streams(seed).named("weights")
