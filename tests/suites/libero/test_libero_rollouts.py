"""LIBERO in a simulator process: the golden episode ends there as it was recorded."""

import numpy as np
import pytest

from phaser.core.streams import Streams
from phaser.evaluation.messages import Job
from phaser.evaluation.rollouts import rollouts
from phaser.evaluation.simulators import Simulators
from phaser.suites.libero.golden import INITIAL_STATE, STEPS, TASK, golden
from phaser.suites.libero.suite import Libero

CHUNK = 8


class ByHeart:
    """Gives the next chunk of one episode whatever it is shown."""

    def __init__(self, actions):
        self.contract, self.seen = {}, []
        self._actions = actions

    def act(self, observations, streams):
        start = CHUNK * len(self.seen)
        self.seen += observations
        chunk = self._actions[start : start + CHUNK]
        return np.concatenate([chunk, np.zeros((CHUNK - len(chunk), 7))])[None]


@pytest.mark.usefixtures("needs_libero")
def test_the_golden_episode_is_solved_in_a_simulator_process(tmp_path):
    suite, stored = Libero(task_list=(TASK,), cache=tmp_path), golden()
    [task] = suite.tasks()
    policy = ByHeart(stored.actions)
    jobs = [Job(task=task, env_seed=INITIAL_STATE, horizon=suite.horizon(task))]
    with Simulators() as simulators:
        [episode], throughput = rollouts(policy, suite, jobs, Streams(0), simulators=simulators)
    assert episode.success
    assert abs(episode.steps - stored.outcome.solved_at) <= STEPS
    assert [reached for _, reached in episode.milestones] == [True] * len(episode.milestones) != []
    assert len(policy.seen) == -(-episode.steps // CHUNK), "drawn other than once per chunk"
    assert np.abs(policy.seen[0].state - stored.outcome.state).max() < 1e-4
    assert throughput.spent.rendering_s > 0
