"""Streams of tasks under every penalty: deterministic, exact in budget, and not without effect."""

from dataclasses import dataclass
from functools import cache

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import save
from small_policy import Small, table

from phaser.core.streams import Streams
from phaser.methods.dark import stored_outputs
from phaser.methods.method import Method
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.table import METHODS
from phaser.testing.draw import MadeUpProbe
from phaser.testing.made_up import made_up_task
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable
from phaser.training.stream import learn_stream

NAMES = ("lift", "push", "pour")
PENALISED = ["icarl", "der", "agem", "ewc"]
BUDGET = 7
ONE_PROCESS = Accelerator(cpu=True)


@dataclass
class Learner:
    """What the stream asks for, around the small policy."""

    policy: Small
    frames: FrameTable
    streams: Streams

    def learn(self, task, sampler, penalty):
        name = task.task.name
        return Fit(steps_per_task=12, batch_size=8)(
            self.policy,
            current=self.frames.tasks[name].refs(name),
            sampler=sampler,
            penalty=penalty,
            frames=self.frames,
            streams=self.streams,
            name=name,
            accelerator=ONE_PROCESS,
        )

    def probe(self, task):
        return MadeUpProbe()


def learnt(method, *, seed=0, names=NAMES):
    learner = Learner(Small(seed), table(*NAMES), Streams(seed))
    tasks = [made_up_task(name) for name in names]
    finished, weights = [], []
    for one in learn_stream(tasks, learner, method.with_budget(BUDGET), Streams(seed)):
        finished.append(one)
        weights.append(save(learner.policy.state_dict()))
    return weights, finished


@cache
def learnt_by(name):
    return learnt(METHODS[name])


def unpenalised(name):
    return Method(keep=METHODS[name].keep, draw=METHODS[name].draw)


@pytest.mark.parametrize("name", PENALISED)
def test_two_streams_of_one_seed_are_the_same_bytes_and_leave_the_same(name):
    weights, finished = learnt_by(name)
    again, others = learnt(METHODS[name])
    assert weights == again
    assert [save(dict(one.left)) for one in finished] == [save(dict(one.left)) for one in others]
    assert learnt(METHODS[name], seed=1)[0][-1] != weights[-1]


@pytest.mark.parametrize("name", PENALISED)
def test_a_penalty_changes_nothing_before_there_is_a_past_and_something_after(name):
    weights, _ = learnt_by(name)
    plain, _ = learnt(unpenalised(name))
    assert weights[0] == plain[0]
    assert weights[1] != plain[1]


@pytest.mark.parametrize("name", PENALISED)
def test_one_task_alone_is_learnt_and_kept(name):
    weights, [only] = learnt(METHODS[name], names=NAMES[:1])
    assert weights == learnt_by(name)[0][:1]
    assert only.memory.num_frames == (0 if name == "ewc" else BUDGET)


@pytest.mark.parametrize("name", PENALISED)
def test_the_budget_is_exact_whatever_the_penalty(name):
    _, finished = learnt_by(name)
    held = finished[-1].memory.frames_per_task()
    assert held == ({} if name == "ewc" else dict.fromkeys(NAMES, BUDGET))


@pytest.mark.parametrize("name", ["icarl", "der", "agem"])
def test_a_penalty_on_rehearsed_frames_works_while_none_are_kept(name):
    nothing = METHODS["sequential"]
    method = Method(keep=nothing.keep, draw=nothing.draw, penalty=METHODS[name].penalty)
    assert learnt(method)[0] == learnt(nothing)[0]


def test_dark_replay_stores_exactly_the_frames_that_are_kept():
    _, finished = learnt_by("der")
    for one in finished:
        kept = {ref for bucket in one.memory.buckets for ref in bucket.frames}
        assert set(stored_outputs(one.left)) == kept
    first, last = (stored_outputs(one.left) for one in (finished[0], finished[-1]))
    assert all(torch.equal(last[ref], value) for ref, value in first.items())


def test_without_a_penalty_nothing_is_left():
    assert METHODS["phaser"].penalty == NoPenalty()
    assert [dict(one.left) for one in learnt_by("phaser")[1]] == [{}] * len(NAMES)
