"""Do finished runs fail for want of time? Their final policies, given twice the steps.

python -m benchmarks.longer_rollouts metaworld-confirm runs/metaworld-confirm/er-even-b20-reverse-s1

Prints, for each run folder, how many rollouts succeed within the horizon and within twice of it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file

from phaser.core.streams import Streams
from phaser.evaluation.messages import Job
from phaser.evaluation.rollouts import rollouts
from phaser.evaluation.simulators import Simulators
from phaser.experiments.presets import preset

ROLLOUTS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset")
    parser.add_argument("runs", nargs="+", type=Path, help="finished run folders")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for folder in options.runs:
        print(json.dumps({"run": folder.name, **counts(options.preset, folder)}), flush=True)


def counts(name: str, folder: Path) -> dict[str, object]:
    """Successes by task, in time and in twice the time."""
    about = json.loads((folder / "run.json").read_text())
    run = replace(preset(name), seed=about["seed"])
    streams, suite = Streams(run.seed), run.suite
    policy = run.policy.build(suite.contract, streams.named("weights"))
    weights = sorted((folder / "checkpoints").glob("*.safetensors"))[-1]
    policy.load_trained_state(load_file(weights))
    policy.eval()
    horizon = {task.name: suite.horizon(task) for task in suite.tasks()}
    jobs = [
        Job(task=task, env_seed=seed, horizon=2 * horizon[task.name])
        for task in suite.tasks()
        for seed in suite.evaluation_seeds(ROLLOUTS)
    ]
    with Simulators() as simulators:
        episodes, _ = rollouts(policy, suite, jobs, streams, simulators=simulators)
    done = [one for one in episodes if one.success]
    in_time = Counter(one.task for one in done if one.steps <= horizon[one.task])
    later = Counter(one.task for one in done)
    return {
        "in_time": sum(in_time.values()),
        "in_twice_the_time": sum(later.values()),
        "of": len(episodes),
        "tasks": {task: [in_time[task], later[task]] for task in horizon},
    }


if __name__ == "__main__":
    main()
