"""Rollouts in simulator processes: the same episodes as in a plain loop, however many there are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_up_robots import TASKS, Robots, Wobbly

import phaser
from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.evaluation.rollouts import Episode, rollouts
from phaser.evaluation.simulators import Simulators
from phaser.evaluation.throughput import Throughput

SOURCE = str(Path(phaser.__file__).parents[1])


def in_a_plain_loop(policy, suite, jobs, streams):
    """One process, one episode after the other: what every way of running them must give."""
    episodes = []
    for job in jobs:
        env = suite.make_env(job.task)
        observation, steps, success = env.reset(job.env_seed), 0, False
        while not success and steps < job.horizon:
            noise = streams.named("act", job.task.name, job.env_seed, steps)
            for action in policy.act([observation], [noise])[0]:
                success, steps = env.step(action), steps + 1
                if success or steps == job.horizon:
                    break
            observation = env.observe()
        episodes.append((job.task.name, job.env_seed, success, steps))
    return episodes


def outcomes(episodes):
    return [(one.task, one.env_seed, one.success, one.steps) for one in episodes]


@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_episodes_do_not_depend_on_the_number_of_simulators(num_workers, tmp_path):
    suite, streams = Robots(folder=tmp_path), Streams(3)
    expected = in_a_plain_loop(Wobbly(), suite, suite.jobs(), streams)
    policy, told = Wobbly(), []
    with Simulators(num_workers) as simulators:
        episodes, throughput = rollouts(
            policy,
            suite,
            suite.jobs(),
            streams,
            simulators=simulators,
            finished=lambda episode, throughput: told.append((episode, throughput)),
        )
    assert outcomes(episodes) == expected
    assert {success for _, _, success, _ in expected} == {True, False}
    assert not any(one.retried for one in episodes)
    assert max(policy.batches) <= num_workers
    assert sorted(outcomes(one for one, _ in told)) == sorted(expected)
    assert [now.episodes for _, now in told] == list(range(1, len(expected) + 1))
    assert throughput.episodes == throughput.planned == len(expected)


def test_all_that_wait_are_asked_in_one_call(tmp_path):
    suite, policy = Robots(folder=tmp_path), Wobbly(seconds=0.05)
    with Simulators(3) as simulators:
        rollouts(policy, suite, suite.jobs(3), Streams(0), simulators=simulators)
    assert max(policy.batches) > 1


def test_a_simulator_is_made_once_and_kept_for_the_next_evaluation(tmp_path):
    suite = Robots(folder=tmp_path)
    with Simulators() as simulators:
        for _ in range(2):
            rollouts(Wobbly(), suite, suite.jobs(2), Streams(0), simulators=simulators)
        made = sorted(path.name.split("-")[1] for path in tmp_path.glob("made-*"))
        assert made == sorted(task.name for task in TASKS)
        other = Robots(folder=tmp_path, times=7)
        rollouts(Wobbly(), other, other.jobs(1), Streams(0), simulators=simulators)
    assert len(list(tmp_path.glob("made-*"))) == 2 * len(TASKS)
    processes = {path.name.split("-")[2] for path in tmp_path.glob("made-*")}
    assert len(processes) == 1
    assert str(os.getpid()) not in processes


def test_an_episode_says_how_far_it_came_where_the_suite_can_tell(tmp_path):
    suite = Robots(folder=tmp_path)
    with Simulators() as simulators:
        episodes, _ = rollouts(Wobbly(), suite, suite.jobs(1), Streams(0), simulators=simulators)
    found = {one.task: one.milestones for one in episodes}
    # The second would be True if a simulator process imported torch.
    expected = (("began", True), ("imported torch", False), ("rests", False))
    assert found == {"push": (), "lift": (), "turn": expected}


@pytest.mark.parametrize("suite", ["metaworld.suite", "libero.suite"])
def test_what_a_simulator_process_imports_of_ours_is_free_of_torch(suite):
    program = (
        f"import sys, phaser.evaluation.simulator_process, phaser.suites.{suite}\n"
        "sys.exit(str([name for name in ('torch', 'accelerate') if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert done.stderr == "[]\n"


def test_a_suite_of_the_main_program_is_refused_in_one_line(tmp_path):
    kind = type("Mine", (Robots,), {"__module__": "__main__", "__slots__": ()})
    with pytest.raises(BadInput, match="Mine is defined in the program itself"):
        rollouts(Wobbly(), kind(folder=tmp_path), [], Streams(0), simulators=Simulators())


@pytest.mark.parametrize(("num_workers", "time_limit_s"), [(0, 1.0), (1, 0.0)])
def test_senseless_numbers_are_refused(num_workers, time_limit_s):
    with pytest.raises(BadInput, match="expected at least 1"):
        Simulators(num_workers, time_limit_s=time_limit_s)


def test_throughput_tells_the_time_left_and_the_shares():
    nothing = Throughput(planned=3)
    assert nothing.seconds_left is None
    assert set(nothing.shares.values()) == {0.0}
    now = Throughput(episodes=2, planned=8, elapsed_s=4.0, policy_s=1.0)
    assert now.episodes_per_s == 0.5
    assert now.seconds_left == 12.0
    assert now.shares == {"physics": 0.0, "rendering": 0.0, "policy": 1.0}


def test_an_episode_has_plain_defaults():
    episode = Episode(task="push", env_seed=0, success=True, steps=3)
    assert not episode.retried
    assert episode.milestones == ()
