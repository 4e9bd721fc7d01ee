"""Two short tasks recorded once for all tests of this folder, and the smallest run on them."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from phaser.experiments.run import Evaluation, Run
from phaser.memory.budget import Budget
from phaser.methods.table import METHODS
from phaser.policies.tiny.settings import Tiny
from phaser.suites.metaworld.recording import MetaWorldRecording
from phaser.suites.metaworld.suite import MetaWorld
from phaser.training.fit import Fit

# A run without a simulator; importlib mode makes no test module importable.
if (place := str(Path(__file__).parents[1] / "faults")) not in sys.path:
    sys.path.append(place)


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory):
    """Makes a run of a method by name; demonstrations are recorded when first needed."""
    suite = MetaWorld(
        task_list=("reach", "pick-place"),
        recording=MetaWorldRecording(num_train=2, num_heldout=1, max_steps=80),
        cache=tmp_path_factory.mktemp("experiment-cache"),
    )
    base = Run(
        suite=suite,
        policy=Tiny(width=16, channels=4),
        fit=Fit(steps_per_task=5, batch_size=8),
        evaluation=Evaluation(rollouts_per_task=1, learnt_rollouts=1),
    )

    def make(name, *, budget=6, **changes):
        run = replace(base, **changes).with_method(METHODS[name])
        return run.with_budget(Budget.per_task(budget))

    return make
