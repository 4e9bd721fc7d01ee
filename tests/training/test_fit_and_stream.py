"""One task's learner and the stream of tasks: what a step trains on, and identical bytes."""

import gc
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType
from hypothesis import given, settings
from hypothesis import strategies as st
from module_policy import ModulePolicy
from safetensors.torch import save
from torch import nn

from phaser.core.errors import BadInput
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.memory.reservoir import Reservoir
from phaser.methods.table import METHODS
from phaser.routing.uniform import Uniform
from phaser.testing.draw import MadeUpProbe
from phaser.testing.made_up import made_up_task
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable, TaskFrames
from phaser.training.learner import PolicyLearner
from phaser.training.stream import TaskStream

NAMES = ("lift", "push", "pour")
ONE_PROCESS = Accelerator(cpu=True)
DEFAULT, SHORT = Fit(), Fit(steps_per_task=12, batch_size=8)


@pytest.fixture(autouse=True)
def _no_full_collection(monkeypatch):
    """Accelerate collects all garbage after each task: half a second under a test runner."""
    monkeypatch.setattr(gc, "collect", lambda *some: 0)


class Linear(ModulePolicy):
    """The smallest policy: the next action, linear in state and language, with noise."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.out = nn.Linear(5, 4)

    def forward(self, batch, noise):
        generator = torch.Generator().manual_seed(noise.integer())
        jitter = 0.01 * torch.randn(batch.states.shape, generator=generator)
        seen = torch.cat([batch.states + jitter, batch.language], dim=1)
        return (self.out(seen) - batch.actions[:, 0]).abs().mean(1)


def learner_of(frames, *, seed=0, fit=SHORT, accelerator=ONE_PROCESS):
    return PolicyLearner(
        policy=Linear(seed),
        frames=frames,
        fit=fit,
        streams=Streams(seed),
        accelerator=accelerator,
    )


def frames_of(task, number):
    return TaskFrames.of(task.demos, {}, instruction=str(number), chunk_length=2)


def learning(*, seed=0, method=METHODS["phaser"], budget=20, fit=SHORT):
    """The policy, and the tasks as they are learnt one after the other."""
    tasks = [made_up_task(name) for name in NAMES]
    table = FrameTable({one.task.name: frames_of(one, k) for k, one in enumerate(tasks)})
    learner = learner_of(table, seed=seed, fit=fit)
    stream = TaskStream(
        learner=learner, method=method, budget=Budget.per_task(budget), streams=Streams(seed)
    )
    return learner.policy, stream(tasks)


def learnt(**settings):
    policy, stream = learning(**settings)
    return policy, list(stream)


def memory_of(*names):
    memory = Memory()
    for name in names:
        kept = Reservoir().select(made_up_task(name), 20, Streams(0).named("keep", name))
        memory = memory.with_buckets(kept)
    return memory


def sampler_for(memory, seed=0):
    stream = Streams(seed).named("draw", "pour")
    return Uniform().for_task(memory, made_up_task("pour"), stream, MadeUpProbe())


def refs_at(step, *, fit=DEFAULT, seed=0, memory=None):
    task = made_up_task("pour")
    current = frames_of(task, 0).refs("pour")
    sampler = sampler_for(memory_of("lift", "push") if memory is None else memory, seed)
    return fit.refs_of_step(step, current, sampler, Streams(seed).named("current", "pour"))


@settings(deadline=None, max_examples=20)
@given(step=st.integers(0, 10_000), seed=st.integers(0, 100))
def test_the_batch_of_a_step_is_a_pure_function_of_seed_task_and_step(step, seed):
    assert refs_at(step, seed=seed) == refs_at(step, seed=seed)
    assert refs_at(step, seed=seed) != refs_at(step + 1, seed=seed)
    assert refs_at(step, seed=seed) != refs_at(step, seed=seed + 1)


@settings(deadline=None, max_examples=20)
@given(size=st.integers(1, 65), share=st.sampled_from([0.0, 0.25, 0.5, 0.9]))
def test_the_asked_share_of_a_batch_is_rehearsed_once_there_is_a_memory(size, share):
    fit = Fit(batch_size=size, rehearsed_share=share)
    refs = refs_at(3, fit=fit)
    assert len(refs) == size
    assert sum(ref.task != "pour" for ref in refs) == round(size * share)
    first_task = refs_at(3, fit=fit, memory=Memory())
    assert [ref.task for ref in first_task] == ["pour"] * size


@dataclass
class Rank:
    """One of several processes, as far as the learner can tell."""

    process_index: int
    num_processes: int
    distributed_type: DistributedType = DistributedType.NO

    def prepare(self, *things):
        return things

    def backward(self, loss):
        loss.backward()

    def reduce(self, tensor, reduction):
        return tensor

    def free_memory(self, *things):
        return things


class Recorder(FrameTable):
    """Writes down which frames were gathered, step by step."""

    __slots__ = ("asked",)

    def __init__(self, tasks):
        super().__init__(tasks)
        object.__setattr__(self, "asked", [])

    def samples(self, refs):
        self.asked.append(list(refs))
        return super().samples(refs)


@pytest.mark.parametrize("num_processes", [1, 2, 3])
def test_the_slices_of_all_ranks_are_disjoint_and_together_the_global_batch(num_processes):
    fit = Fit(steps_per_task=3, batch_size=12)
    tasks = {name: frames_of(made_up_task(name), 0) for name in NAMES}
    per_rank = []
    for index in range(num_processes):
        table = Recorder(tasks)
        learner = learner_of(table, fit=fit, accelerator=Rank(index, num_processes))
        learner.learn(made_up_task("pour"), sampler_for(memory_of("lift", "push")))
        per_rank.append(table.asked)
    for step, slices in enumerate(zip(*per_rank, strict=True)):
        whole = refs_at(step, fit=fit)
        rebuilt = [None] * len(whole)
        for index, part in enumerate(slices):
            rebuilt[index::num_processes] = part
        assert rebuilt == whole


def test_the_learning_rate_is_constant_and_then_falls_along_a_cosine_to_zero():
    rates = np.array([Fit(warm_up=0, decay_after=0.5)._rate(step, 200) for step in range(200)])
    assert (rates[:101] == 1.0).all()
    assert (np.diff(rates[100:]) < 0).all()
    assert rates[150] == pytest.approx(0.5)
    assert rates[-1] < 0.001
    assert Fit(decay_after=1.0)._rate(199, 200) == 1.0


def test_a_warm_up_rises_in_a_line_to_the_whole_rate():
    rates = np.array([Fit(warm_up=0.1)._rate(step, 200) for step in range(200)])
    assert rates[0] == pytest.approx(1 / 21)
    assert np.diff(rates[:20], 2) == pytest.approx(np.zeros(18), abs=1e-12)
    assert (rates[20:101] == 1.0).all()


def test_the_optimiser_follows_the_learning_rate(monkeypatch):
    seen = []
    step = torch.optim.AdamW.step
    monkeypatch.setattr(
        torch.optim.AdamW,
        "step",
        lambda self, *some: (seen.append(self.param_groups[0]["lr"]), step(self, *some))[1],
    )
    fit = Fit(steps_per_task=20, batch_size=4, learning_rate=0.01)
    learnt(fit=fit, method=METHODS["sequential"])
    expected = [0.01 * fit._rate(at, 20) for at in range(20)] * len(NAMES)
    assert seen == pytest.approx(expected)


@pytest.mark.parametrize("name", ["sequential", "er", "phaser"])
def test_two_runs_with_one_seed_give_identical_bytes_and_another_seed_does_not(name):
    weights = [save(learnt(seed=s, method=METHODS[name])[0].state_dict()) for s in (0, 0, 1)]
    assert weights[0] == weights[1]
    assert weights[0] != weights[2]


def test_learning_does_not_depend_on_torch_randomness_drawn_before():
    one = learnt()[0].state_dict()
    policy, stream = learning()
    for _ in stream:
        torch.rand(17)
        np.random.default_rng().random()
    assert save(policy.state_dict()) == save(one)


def test_a_stream_keeps_every_task_and_draws_from_the_earlier_ones_only():
    _, finished = learnt(method=METHODS["er"], budget=7)
    held = [list(one.memory.frames_per_task().items()) for one in finished]
    assert held == [[(name, 7) for name in NAMES[: k + 1]] for k in range(3)]
    drawn = [{ref.task for ref in one.sampler.next(64, 0)} for one in finished]
    assert drawn == [set(), {"lift"}, {"lift", "push"}]
    assert [set(one.past.frames_per_task()) for one in finished] == drawn
    assert all(np.isfinite(one.loss) for one in finished)


def test_training_lowers_the_loss():
    fits = [Fit(steps_per_task=steps, batch_size=16, learning_rate=0.03) for steps in (1, 100)]
    before, after = (learnt(fit=fit)[1][0].loss for fit in fits)
    assert after < 0.7 * before


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps_per_task": 0},
        {"batch_size": 0},
        {"checkpoint_every_steps": 0},
        {"rehearsed_share": 1.0},
        {"rehearsed_share": -0.1},
    ],
)
def test_settings_that_cannot_train_are_refused(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        Fit(**wrong)
