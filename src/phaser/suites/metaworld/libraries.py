"""The one place that imports Meta-World, late and with its known noise silenced."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.errors import MissingDependency
from phaser.suites.mujoco_library import mujoco

_INSTALL = "install the extra: pip install 'phaser-vla[metaworld]'"


def make_simulator(task: str) -> Any:
    """A Meta-World environment whose goal the expert can see and whose seed decides the layout."""
    environments, _ = _metaworld()
    simulator = environments[f"{task}-v3-goal-observable"](seed=0)
    # The constructor freezes the first layout; without these two lines every seed gives that one.
    simulator._freeze_rand_vec = False
    simulator.seeded_rand_vec = True
    return simulator


class Expert:
    """The scripted expert of a task; experts may remember, so each episode gets its own."""

    def __init__(self, task: str) -> None:
        _, experts = _metaworld()
        self._policy = experts[f"{task}-v3"]()

    def act(self, full_state: Float[np.ndarray, "39"]) -> Float[np.ndarray, "4"]:
        with warnings.catch_warnings():
            # The experts command more than +-1 and say so at every step; we clip.
            warnings.filterwarnings("ignore", r"Constant\(s\) may be too high", UserWarning)
            return np.clip(self._policy.get_action(full_state), -1.0, 1.0)


def versions() -> dict[str, str]:
    """Versions that decide what is simulated and drawn."""
    names = ("metaworld", "mujoco", "gymnasium")
    return {name: metadata.version(name) for name in names} | {"numpy": np.__version__}


@cache
def _metaworld() -> tuple[dict[str, Any], dict[str, Any]]:
    mujoco()
    try:
        with warnings.catch_warnings():
            # Gymnasium and Meta-World warn about their own deprecations when they are imported.
            for category in (DeprecationWarning, UserWarning):
                warnings.simplefilter("ignore", category)
            from metaworld.env_dict import ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE
            from metaworld.policies import ENV_POLICY_MAP
    except ImportError as error:
        raise MissingDependency(f"metaworld does not import ({error}); {_INSTALL}") from error
    return dict(ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE), dict(ENV_POLICY_MAP)
