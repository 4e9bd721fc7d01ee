"""Build a LeRobot policy with its processors; the one file that imports LeRobot's factories."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from lerobot.configs.policies import PreTrainedConfig
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.factory import (
    get_policy_class,
    make_policy_config,
    make_pre_post_processors,
)

from phaser.core.contract import Contract
from phaser.core.errors import BadInput, MissingDependency
from phaser.core.streams import Stream
from phaser.policies.lerobot.policy import LANGUAGE_WIDTH, LeRobotPolicy, Parts
from phaser.policies.lerobot.settings import LeRobot
from phaser.policies.lerobot.statistics import as_json, dataset_statistics

IMAGES, STATE, ENVIRONMENT = (
    "observation.images.",
    "observation.state",
    "observation.environment_state",
)
READ_NO_LANGUAGE = ("act", "diffusion", "vqbet", "tdmpc")
CHUNK_FIELDS = ("chunk_size", "horizon")


def build_policy(settings: LeRobot, contract: Contract, stream: Stream) -> LeRobotPolicy:
    """A policy of LeRobot for a suite, with fresh weights or those of a saved one."""
    device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
    with torch.random.fork_rng(devices=[]), _one_line(settings):
        torch.manual_seed(stream.integer())
        if settings.path is None:
            config = _fresh_config(settings, contract, device)
            network = get_policy_class(config.type)(config)
            statistics = dataset_statistics(contract)
            processors = make_pre_post_processors(config, dataset_stats=statistics)
            normalised_by = as_json(statistics)
        else:
            config = _saved_config(settings, device)
            network = get_policy_class(config.type).from_pretrained(settings.path, config=config)
            overrides = {"device_processor": {"device": device}}
            processors = make_pre_post_processors(
                config, pretrained_path=settings.path, preprocessor_overrides=overrides
            )
            normalised_by = {"saved with": settings.path}
    _check_fit(config, contract, settings)
    parts = Parts(
        network=network.to(device),
        before=processors[0],
        after=processors[1],
        embeds=config.env_state_feature is not None and settings.instruction == "embedded",
        described={"type": config.type, "options": settings.overrides, **_described(config)},
        normalised_by=normalised_by,
    )
    return LeRobotPolicy(parts, contract, chunk_length=_chunk(config), losses=settings.losses)


def _fresh_config(settings: LeRobot, contract: Contract, device: str) -> Any:
    kind = _kind(settings.type)
    names = {one.name for one in dataclasses.fields(kind)}
    chunk = next((name for name in CHUNK_FIELDS if name in names), None)
    if chunk is None:
        raise BadInput(f"LeRobot's {settings.type} gives no chunks of actions; choose another type")
    chosen: dict[str, Any] = {chunk: settings.chunk_length, "n_action_steps": settings.chunk_length}
    # A sample is one frame, and what lies beyond the end of a demonstration must not count.
    chosen |= {"n_obs_steps": 1, "do_mask_loss_for_padding": True, "push_to_hub": False}
    chosen = {name: value for name, value in chosen.items() if name in names}
    if unknown := settings.overrides.keys() - names:
        raise BadInput(f"LeRobot's {settings.type} has no field {min(unknown)!r}; see its config")
    given = {**chosen, **settings.overrides, "device": device}
    return make_policy_config(
        settings.type,
        **given,
        input_features=_inputs(settings, contract),
        output_features={"action": _feature(FeatureType.ACTION, len(contract.action))},
    )


def _inputs(settings: LeRobot, contract: Contract) -> dict[str, PolicyFeature]:
    height, width = contract.image_size
    found = {
        IMAGES + camera: _feature(FeatureType.VISUAL, 3, height, width)
        for camera in contract.cameras
    }
    found[STATE] = _feature(FeatureType.STATE, len(contract.state))
    if settings.type in READ_NO_LANGUAGE and settings.instruction == "embedded":
        found[ENVIRONMENT] = _feature(FeatureType.ENV, LANGUAGE_WIDTH)
    return found


def _feature(kind: FeatureType, *shape: int) -> PolicyFeature:
    return PolicyFeature(type=kind, shape=shape)


def _kind(name: str) -> Any:
    try:
        return type(make_policy_config(name, device="cpu"))
    except ValueError as error:
        raise BadInput(
            f"LeRobot has no policy {name!r}; expected act, diffusion, smolvla, pi0, pi05, …"
        ) from error


def _saved_config(settings: LeRobot, device: str) -> Any:
    config = PreTrainedConfig.from_pretrained(settings.path)
    config.device = device
    for name, value in settings.overrides.items():
        if not hasattr(config, name):
            raise BadInput(f"LeRobot's {config.type} has no field {name!r}; see its config")
        setattr(config, name, value)
    # Rollouts here take whole chunks.
    if hasattr(config, "temporal_ensemble_coeff"):
        config.temporal_ensemble_coeff = None
    config.n_action_steps = _chunk(config)
    if hasattr(config, "do_mask_loss_for_padding"):
        config.do_mask_loss_for_padding = True
    return config


def _chunk(config: Any) -> int:
    return int(next(getattr(config, name) for name in CHUNK_FIELDS if hasattr(config, name)))


def _check_fit(config: Any, contract: Contract, settings: LeRobot) -> None:
    """Refuse a policy that was made for other inputs than the suite has."""
    if getattr(config, "n_obs_steps", 1) != 1:
        raise BadInput(
            f"{settings.path or settings.type} reads {config.n_obs_steps} frames at once; a sample "
            "here is one frame: train it with n_obs_steps=1"
        )
    sizes = {
        "cameras": (
            sorted(name.removeprefix(IMAGES) for name in config.image_features),
            sorted(contract.cameras),
        ),
        "numbers of the state": (_size(config.robot_state_feature), len(contract.state)),
        "numbers of an action": (_size(config.action_feature), len(contract.action)),
    }
    for what, (theirs, ours) in sizes.items():
        if theirs != ours:
            raise BadInput(
                f"{settings.path or settings.type} has the {what} {theirs}, the suite {ours}; "
                "choose the policy, or the suite's cameras, to fit"
            )
    reads = config.type not in READ_NO_LANGUAGE or _size(config.env_state_feature) == LANGUAGE_WIDTH
    if settings.instruction == "embedded" and not reads:
        raise BadInput(
            f"{settings.path or settings.type} reads no instruction; say that it need not with "
            "--policy.instruction ignored"
        )


def _size(feature: PolicyFeature | None) -> int:
    return 0 if feature is None else int(feature.shape[0])


def _described(config: Any) -> Mapping[str, Any]:
    """What the policy reads and gives, as JSON."""
    features = {**config.input_features, **config.output_features}
    modes = {
        name: str(getattr(mode, "value", mode))
        for name, mode in config.normalization_mapping.items()
    }
    shapes = {name: [str(one.type.value), *one.shape] for name, one in features.items()}
    found: Mapping[str, Any] = json.loads(json.dumps({"features": shapes, "normalises": modes}))
    return found


@contextmanager
def _one_line(settings: LeRobot) -> Iterator[None]:
    """LeRobot's refusals in one line; its notes about devices are left out."""
    logging.getLogger("lerobot").setLevel(logging.ERROR)
    try:
        yield
    except ImportError as error:
        what = " ".join(str(error).split())
        raise MissingDependency(
            f"LeRobot's {settings.type} needs more than LeRobot's base: {what}; install LeRobot's "
            "own extra for it"
        ) from error
    except (ValueError, TypeError, FileNotFoundError, NotImplementedError) as error:
        if isinstance(error, BadInput):
            raise
        what = settings.path or settings.type
        raise BadInput(f"LeRobot refuses {what}: {' '.join(str(error).split())}") from error
