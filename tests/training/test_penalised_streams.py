"""Streams of tasks under every penalty: deterministic, exact in budget, and not without effect."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from accelerate import Accelerator
from module_policy import ModulePolicy
from safetensors.torch import load, save
from small_policy import Small, table

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.methods.dark import Dark, stored_outputs
from phaser.methods.distill import Distil
from phaser.methods.imagined import Imagined
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.table import METHODS
from phaser.testing.made_up import made_up_task
from phaser.training.fit import Fit
from phaser.training.learner import PolicyLearner
from phaser.training.stream import MethodState, TaskStream

NAMES = ("lift", "push", "pour")
PENALISED = ["icarl", "der", "agem", "ewc"]
BUDGET = Budget.per_task(7)
ONE_PROCESS = Accelerator(cpu=True)
ZERO = torch.zeros(1)


def stream_of(method, policy, *, seed=0):
    """The stream of one method around a small policy."""
    learner = PolicyLearner(
        policy=policy,
        frames=table(*NAMES),
        fit=Fit(steps_per_task=12, batch_size=8),
        streams=Streams(seed),
        accelerator=ONE_PROCESS,
    )
    return TaskStream(learner=learner, method=method, budget=BUDGET, streams=Streams(seed))


def learnt(method, *, seed=0, names=NAMES):
    policy = Small(seed)
    tasks = [made_up_task(name) for name in names]
    finished, weights = [], []
    for one in stream_of(method, policy, seed=seed)(tasks):
        finished.append(one)
        weights.append(save(policy.state_dict()))
    return weights, finished


@cache
def learnt_by(name):
    return learnt(METHODS[name])


def unpenalised(name):
    return replace(METHODS[name], penalty=NoPenalty())


@pytest.mark.parametrize("name", PENALISED)
def test_two_streams_of_one_seed_are_the_same_bytes_and_leave_the_same(name):
    weights, finished = learnt_by(name)
    again, others = learnt(METHODS[name])
    assert weights == again
    assert [save(one.state.tensors()) for one in finished] == [
        save(one.state.tensors()) for one in others
    ]
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
    assert only.memory.num_frames == (0 if name == "ewc" else BUDGET.amount)


@pytest.mark.parametrize("name", PENALISED)
def test_the_budget_is_exact_whatever_the_penalty(name):
    _, finished = learnt_by(name)
    held = finished[-1].memory.frames_per_task()
    assert held == ({} if name == "ewc" else dict.fromkeys(NAMES, BUDGET.amount))


@pytest.mark.parametrize("name", ["icarl", "der", "agem"])
def test_a_penalty_on_rehearsed_frames_works_while_none_are_kept(name):
    nothing = METHODS["sequential"]
    method = replace(nothing, penalty=METHODS[name].penalty)
    assert learnt(method)[0] == learnt(nothing)[0]


def test_dark_replay_stores_exactly_the_frames_that_are_kept():
    _, finished = learnt_by("der")
    for one in finished:
        kept = {ref for bucket in one.memory.buckets for ref in bucket.frames}
        assert set(stored_outputs(one.state.penalty)) == kept
    first, last = (stored_outputs(one.state.penalty) for one in (finished[0], finished[-1]))
    assert all(torch.equal(last[ref], value) for ref, value in first.items())


def test_without_a_penalty_nothing_is_left():
    assert METHODS["phaser"].penalty == NoPenalty()
    assert [one.state.tensors() for one in learnt_by("phaser")[1]] == [{}] * len(NAMES)


class Bare(ModulePolicy):
    """Offers nothing but its losses."""


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({"penalty": Distil()}, "features"),
        ({"penalty": Dark()}, "outputs"),
        ({"rehearse": Imagined()}, "outputs"),
    ],
)
def test_a_policy_that_lacks_what_a_rule_reads_is_refused_in_one_line(changes, needed):
    [rule] = changes.values()
    told = rf"^{type(rule).__name__} needs {needed}\(batch\).*Bare"
    with pytest.raises(BadInput, match=told) as caught:
        next(stream_of(replace(METHODS["er"], **changes), Bare())([made_up_task("lift")]))
    assert "\n" not in str(caught.value)


def test_what_the_rules_of_a_method_leave_comes_back_from_its_tensors():
    left = MethodState(penalty={"places/lift": torch.ones(2)}, rehearse={"places/lift": ZERO})
    again = MethodState.of(load(save(left.tensors())))
    assert torch.equal(again.penalty["places/lift"], torch.ones(2))
    assert torch.equal(again.rehearse["places/lift"], ZERO)
