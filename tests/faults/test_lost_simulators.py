"""Simulator processes that die, hang or raise, and a trainer that is told to end: no hang, exact
counts, one clear line."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_up_robots import UNLUCKY, Robots, Wobbly

from phaser.core.errors import PhaserError, UnknownName
from phaser.core.streams import Streams
from phaser.evaluation.rollouts import rollouts
from phaser.evaluation.simulators import Simulators

WITHIN_S = 60
"""A machine that is busy starts processes slowly; a hang would last ten minutes."""


@pytest.fixture(autouse=True)
def _in_time():
    """A test that hangs is a test that fails."""

    def late(number, frame):
        raise TimeoutError(f"not done within {WITHIN_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(WITHIN_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def evaluated(suite, *, num_workers=2, time_limit_s=30.0):
    with Simulators(num_workers, time_limit_s=time_limit_s) as simulators:
        return rollouts(Wobbly(), suite, suite.jobs(), Streams(3), simulators=simulators)[0]


@pytest.mark.parametrize(
    ("trouble", "limit_s", "num_workers"),
    [("crash", 30.0, 1), ("crash", 30.0, 2), ("raise", 30.0, 2), ("hang", 3.0, 1)],
)
def test_a_lost_simulator_costs_one_more_try_and_no_episode(
    trouble, limit_s, num_workers, tmp_path
):
    (tmp_path / "calm").mkdir()
    calm = evaluated(Robots(folder=tmp_path / "calm"))
    suite = Robots(folder=tmp_path, trouble=trouble)
    episodes = evaluated(suite, num_workers=num_workers, time_limit_s=limit_s)
    retried = [(one.task, one.env_seed) for one in episodes if one.retried]
    assert retried == [UNLUCKY[:2]]
    assert [(one.task, one.env_seed, one.success, one.steps) for one in episodes] == [
        (one.task, one.env_seed, one.success, one.steps) for one in calm
    ]


@pytest.mark.parametrize(
    ("trouble", "limit_s", "words"),
    [
        ("crash", 30.0, "it was ended by SIGKILL; its last line: the arm fell off"),
        ("raise", 30.0, "it ended with code 1; its last line: ValueError: joint 3 is not a number"),
        ("hang", 3.0, "it gave no answer within 3 s; its last line: waiting for the arm"),
    ],
)
def test_the_same_episode_lost_twice_is_one_line(trouble, limit_s, words, tmp_path):
    suite = Robots(folder=tmp_path, trouble=trouble, times=2)
    with pytest.raises(PhaserError) as caught:
        evaluated(suite, time_limit_s=limit_s)
    what = "the simulator of 'lift' failed twice from initial state 2"
    assert str(caught.value) == f"{what}: {words}"


def test_what_the_user_has_to_mend_comes_back_as_it_was_and_at_once(tmp_path):
    with pytest.raises(UnknownName) as caught:
        evaluated(Robots(folder=tmp_path, trouble="refuse"))
    assert str(caught.value) == "unknown robot 'arn'; did you mean arm?"


def test_a_simulator_that_died_between_two_evaluations_costs_nothing(tmp_path):
    suite = Robots(folder=tmp_path)
    with Simulators() as simulators:
        first, _ = rollouts(Wobbly(), suite, suite.jobs(1), Streams(3), simulators=simulators)
        [worker] = simulators.ready(1)
        os.kill(worker.pid, signal.SIGKILL)
        while worker.is_alive:
            time.sleep(0.01)
        again, _ = rollouts(Wobbly(), suite, suite.jobs(1), Streams(3), simulators=simulators)
    assert again == first


PROGRAM = """
import sys
from pathlib import Path
from made_up_robots import Robots, Wobbly
from phaser.core.streams import Streams
from phaser.evaluation.rollouts import rollouts
from phaser.evaluation.simulators import Simulators

suite = Robots(folder=Path(sys.argv[1]), trouble=sys.argv[2], step_s=0.01)
with Simulators(2) as simulators:
    print(*(worker.pid for worker in simulators.ready(2)), flush=True)
    rollouts(Wobbly(), suite, suite.jobs(20), Streams(3), simulators=simulators,
             finished=lambda episode, throughput: print(episode.task, flush=True))
print("done", flush=True)
"""


@pytest.fixture
def trainer(tmp_path):
    """Starts a process that runs sixty slow episodes in two simulators."""
    begun = []

    def start(trouble=""):
        paths = os.pathsep.join(path for path in sys.path if path)
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), trouble],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
        begun.append(process)
        return process, [int(word) for word in process.stdout.readline().split()]

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def test_on_sigterm_running_episodes_end_and_no_other_begins(trainer, tmp_path):
    process, simulators = trainer()
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    printed, complaints = process.communicate(timeout=WITHIN_S)
    assert process.returncode == -signal.SIGTERM
    assert complaints == ""
    assert "done" not in printed
    num_finished = 1 + len(printed.splitlines())
    assert num_finished == len(list(tmp_path.glob("begun-*"))) < 60
    assert all(is_gone(pid) for pid in simulators)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to see processes of others")
@pytest.mark.parametrize("trouble", ["", "hang"])
def test_simulators_end_with_a_trainer_that_is_killed(trouble, trainer, tmp_path):
    process, simulators = trainer(trouble)
    process.stdout.readline()
    while trouble and not list(tmp_path.glob("trouble-*")):
        time.sleep(0.01)
    process.kill()
    while not all(is_gone(pid) for pid in simulators):
        time.sleep(0.01)


def is_gone(pid):
    """No such process, or one that only waits to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
