"""Rollouts of every learnt dataset in simulation, by LeRobot's own function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from phaser.integrations.lerobot.measuring import add_losses
from phaser.integrations.lerobot.progress import Learnt
from phaser.integrations.lerobot.script import Seen
from phaser.replay.columns import say

ROLLOUTS = "rollouts.jsonl"


def env_of(config: Any) -> dict[str, Any] | None:
    """The environment of a run, as its checkpoint would say it; None where it has none."""
    if config.env is None:
        return None
    import draccus

    found: dict[str, Any] = draccus.encode(config.env)
    return {**found, "type": config.env.type}


def roll_out(
    learnt: Sequence[Learnt], seen: Seen, folder: Path, *, rollouts: int | None = None
) -> None:
    """Try the policy on every learnt dataset that has an environment; write how often it succeeds.

    Args:
        learnt: finished tasks, the newest last.
        seen: the policy and the configuration of this run.
        folder: where the rows are written.
        rollouts: of each dataset; None: as many as LeRobot's `--eval.n_episodes` says.
    """
    count = seen.config.eval.n_episodes if rollouts is None else rollouts
    rows = []
    for index, one in enumerate(learnt):
        if one.env is None or not count:
            continue
        found = _successes(one, seen, count)
        if found is None:
            continue
        rows.append(
            {
                "after_task": learnt[-1].name,
                "after_index": len(learnt) - 1,
                "task": one.name,
                "task_index": index,
                "env_task": one.env.get("task"),
                **found,
            }
        )
    if rows:
        add_losses(folder / ROLLOUTS, rows)


def _successes(learnt: Learnt, seen: Seen, count: int) -> dict[str, Any] | None:
    """Rollouts and successes; None, and a line, where the environment cannot be made."""
    import torch
    from lerobot.envs.factory import make_env, make_env_pre_post_processors
    from lerobot.envs.utils import close_envs
    from lerobot.scripts.lerobot_eval import eval_policy_all

    try:
        config = _env_config(learnt.env or {})
        envs = make_env(config, n_envs=min(seen.config.eval.batch_size, count))
    except Exception as error:  # whatever a simulator raises that is not installed or has changed
        say(f"{learnt.name} is not rolled out: its environment cannot be made ({error})")
        return None
    before, after = make_env_pre_post_processors(env_cfg=config, policy_cfg=seen.config.policy)
    try:
        with torch.no_grad():
            info = eval_policy_all(
                envs=envs,
                policy=seen.policy,
                env_preprocessor=before,
                env_postprocessor=after,
                preprocessor=seen.preprocessor,
                postprocessor=seen.postprocessor,
                n_episodes=count,
                start_seed=seen.config.seed,
            )
    finally:
        close_envs(envs)
    tried = [one["metrics"] for one in info["per_task"]]
    successes = np.concatenate([np.ravel(one["successes"]) for one in tried])
    rewards = np.concatenate([np.ravel(one["sum_rewards"]) for one in tried])
    return {
        "rollouts": len(successes),
        "successes": int(successes.sum()),
        "mean_reward": float(rewards.mean()),
    }


def _env_config(env: Mapping[str, Any]) -> Any:
    import draccus
    from lerobot.envs.configs import EnvConfig

    return draccus.decode(EnvConfig, dict(env))
