"""Virtual steps: equal to brute force, without a trace on the policy, the same on every process."""

import copy
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import save
from scipy import stats
from torch import nn

from phaser.core.memory import Memory
from phaser.core.streams import Stream, Streams
from phaser.experiments.interference import fresh_gradient, loss_increases
from phaser.experiments.learner import PolicyLearner
from phaser.memory.reservoir import Reservoir
from phaser.policies.tiny_network import FlowHead
from phaser.routing.adaptive import Adaptive
from phaser.routing.max_interference import MaxInterference
from phaser.testing.made_up import made_up_task
from phaser.training.checkpoint import Steps, read_state, write_state
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable, TaskFrames

TASKS = {name: made_up_task(name) for name in ("lift", "push", "pour")}
FIT = Fit(steps_per_task=9, batch_size=8, checkpoint_every_steps=2)
ALONE = Accelerator(cpu=True)
RATE = 0.05
MEASURING = [
    MaxInterference(refresh_every=4, num_cached=4),
    MaxInterference(refresh_every=1, num_cached=4),
    MaxInterference(refresh_every=4, num_cached=4, variant="snapshot"),
    Adaptive(measure_every=4, probes_per_phase=2),
]


class Linear(nn.Module):
    """The next action, linear in the state, in whichever precision the weights have."""

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.out = nn.Linear(4, 4, bias=False)

    def forward(self, batch, noise):
        seen = batch.states.to(self.out.weight.dtype)
        return (self.out(seen) - batch.actions[:, 0].to(seen.dtype)).square().mean(1)


class Flow(nn.Module):
    """A flow-matching head behind one layer: its loss depends on noise and time."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.seen = nn.Linear(4, 32)
        self.head = FlowHead(32, 8)

    def forward(self, batch, noise):
        generator = torch.Generator().manual_seed(noise.integer())
        features = self.seen(batch.states).relu()
        return self.head.losses(features, batch.actions.flatten(1), generator).mean(1)


def table():
    return FrameTable(
        {
            name: TaskFrames.of(task.demos, {}, language=np.zeros(1), chunk_length=2)
            for name, task in TASKS.items()
        }
    )


def memory():
    kept = Memory()
    for name in ("lift", "push"):
        stream = Streams(0).named("keep", name)
        kept = kept.with_buckets(Reservoir(frames_per_task=12).select(TASKS[name], stream))
    return kept


STORED = [frame for bucket in memory().buckets for frame in bucket.frames]


def learner_of(policy, *, accelerator=ALONE, fit=FIT, keeper=None):
    return PolicyLearner(
        policy=policy,
        frames=table(),
        fit=fit,
        streams=Streams(0),
        accelerator=accelerator,
        keeper=keeper,
    )


def probe_of(policy, **settings):
    return learner_of(policy, **settings).probe(TASKS["pour"])


def sampler_of(draw, learner):
    stream = Streams(0).named("draw", "pour")
    return draw.for_task(memory(), TASKS["pour"], stream, learner.probe(TASKS["pour"]))


def rows(refs):
    batch = table().batch(refs)
    return batch.states.double().numpy(), batch.actions[:, 0].double().numpy()


def losses(weight, refs):
    states, actions = rows(refs)
    return ((states @ weight.T - actions) ** 2).mean(1)


def brute_force(weight, gradient):
    """Loss of every stored frame after the step minus before it."""
    return losses(weight - RATE * gradient, STORED) - losses(weight, STORED)


def gradient_of_step(weight, step):
    current = table().tasks["pour"].refs("pour")
    refs = FIT.current_of_step(step, current, Streams(0).named("current", "pour"), 4)
    states, actions = rows(refs)
    return 2 * (states @ weight.T - actions).T @ states / actions.size


def test_interference_equals_brute_force_on_a_linear_policy():
    policy = Linear().double()
    weight = policy.out.weight.detach().numpy()
    expected = brute_force(weight, gradient_of_step(weight, 3))
    found = probe_of(policy).interference(STORED, step=3, learning_rate=RATE)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert len(np.unique(expected)) == len(STORED)


def test_the_frames_that_brute_force_finds_are_the_ones_rehearsed():
    policy = Linear().double()
    weight = policy.out.weight.detach().numpy()
    expected = brute_force(weight, gradient_of_step(weight, 0))
    draw = MaxInterference(num_candidates=len(STORED), num_cached=5, learning_rate=RATE)
    sampler = sampler_of(draw, learner_of(policy))
    worst = {STORED[place] for place in np.argsort(-expected)[:5]}
    assert set(sampler.next(32, 0)) == set(sampler.next(32, 7)) == worst


def test_a_snapshot_steps_along_the_gradient_that_is_there():
    policy = Linear().double()
    weight = policy.out.weight.detach().numpy()
    policy.out.weight.grad = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 4)))
    expected = brute_force(weight, policy.out.weight.grad.numpy())
    found = probe_of(policy).interference(STORED, step=1, learning_rate=RATE, variant="snapshot")
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("variant", ["virtual", "snapshot"])
def test_scoring_leaves_weights_gradients_modes_and_randomness_as_they_were(variant):
    policy = Flow()
    policy.head.eval()
    for weight in policy.parameters():
        weight.grad = torch.randn_like(weight)
    before = save(policy.state_dict()), [one.grad.clone() for one in policy.parameters()]
    state = torch.get_rng_state()
    found = probe_of(policy).interference(STORED, step=0, learning_rate=RATE, variant=variant)
    assert np.abs(found).min() > 0
    assert save(policy.state_dict()) == before[0]
    assert all(map(torch.equal, [one.grad for one in policy.parameters()], before[1]))
    assert (policy.training, policy.head.training) == (True, False)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_scoring_that_raises_leaves_the_weights_bit_for_bit(fails_at):
    class Failing(Linear):
        calls = 0

        def forward(self, batch, noise):
            self.calls += 1
            if self.calls == fails_at:
                raise RuntimeError("out of memory")
            return super().forward(batch, noise)

    policy = Failing()
    weights, before = policy.out.weight, save(policy.state_dict())
    with pytest.raises(RuntimeError, match="out of memory"):
        probe_of(policy).interference(STORED, step=0, learning_rate=RATE)
    assert save(policy.state_dict()) == before
    assert policy.out.weight is weights
    assert policy.training


def test_a_step_too_small_for_bfloat16_counts_all_the_same():
    policy = Linear().bfloat16()
    exact = Linear()
    exact.load_state_dict({"out.weight": policy.out.weight.detach().float()})
    found = probe_of(policy).interference(STORED, step=0, learning_rate=1e-4)
    expected = probe_of(exact).interference(STORED, step=0, learning_rate=1e-4)
    np.testing.assert_array_equal(found, expected)
    assert np.count_nonzero(found) > len(STORED) / 2
    assert policy.out.weight.dtype == torch.bfloat16


def test_the_same_noise_before_and_after_finds_the_true_interference_on_a_flow_head():
    """Facts on backbones, 8: a difference of losses drowns in noise that is not shared."""
    policy, batch = Flow(), table().batch(STORED)
    current = table().batch(table().tasks["pour"].refs("pour")[::9])
    gradient = fresh_gradient(policy, current, Stream(1), out_of=len(current))
    moved = copy.deepcopy(policy)
    with torch.no_grad():
        for name, weight in moved.named_parameters():
            weight -= 0.01 * gradient[name]

    def shared(seed):
        step = loss_increases(policy, batch, Stream(seed), gradient=gradient, learning_rate=0.01)
        return step.numpy()

    @torch.no_grad()
    def independent(seed):
        return (moved(batch, Stream(seed + 500)) - policy(batch, Stream(seed))).numpy()

    true = np.mean([shared(1000 + draw) for draw in range(64)], axis=0)
    found = [
        np.mean([stats.spearmanr(score(draw), true).statistic for draw in range(40)])
        for score in (shared, independent)
    ]
    assert found[0] > found[1] + 0.2
    assert abs(found[1]) < 0.15


class Together:
    """Processes as threads: `reduce` waits until all have brought their part."""

    def __init__(self, num_processes):
        self.parts = [None] * num_processes
        self.barrier = threading.Barrier(num_processes, timeout=30)

    def accelerator(self, index):
        def reduce(mine, reduction):
            self.parts[index] = mine
            self.barrier.wait()
            parts, scale = list(self.parts), len(self.parts) if reduction == "mean" else 1
            self.barrier.wait()
            if isinstance(mine, dict):
                return {name: sum(part[name] for part in parts) / scale for name in mine}
            return sum(parts) / scale

        return SimpleNamespace(process_index=index, num_processes=len(self.parts), reduce=reduce)


@pytest.mark.parametrize("batch_size", [2, 8])
def test_all_processes_make_the_same_passes_and_agree(batch_size):
    fit = Fit(batch_size=batch_size)
    together, found, passes = Together(3), {}, {}
    # Before the threads: they share torch's generator, so one could take another's numbers.
    policies = [Linear() for _ in range(3)]

    def run(index):
        policy = policies[index]
        passes[index] = 0

        def count(*_):
            passes[index] += 1

        policy.register_forward_hook(count)
        probe = probe_of(policy, accelerator=together.accelerator(index), fit=fit)
        found[index] = probe.interference(STORED, step=2, learning_rate=RATE)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(passes.values()) == {3}
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    alone = probe_of(Linear(), fit=fit).interference(STORED, step=2, learning_rate=RATE)
    np.testing.assert_allclose(found[0], alone, rtol=1e-3, atol=1e-6)


class Shelf:
    """Keeps states in a folder; a learner that finds one there goes on from it."""

    def __init__(self, folder, last=None):
        self.folder, self.last, self.saved = folder, last, []

    def restore(self, policy, optimizer):
        return read_state(*self.last, policy, optimizer) if self.last else Steps()

    def save(self, policy, optimizer, steps):
        path = self.folder / f"{len(steps)}.safetensors"
        self.last = (path, write_state(path, policy, optimizer, steps))
        self.saved.append(self.last)


def learnt(draw, shelf, *, seed=0):
    """Weights, every batch and every measurement of a task, and how often the policy was run."""
    policy, calls = Linear(seed), []
    policy.register_forward_hook(lambda *_: calls.append(1))
    learner = learner_of(policy, keeper=shelf)
    sampler = sampler_of(draw, learner)
    learner.learn(TASKS["pour"], sampler)
    optimizer = torch.optim.AdamW(policy.parameters())
    steps = shelf.restore(copy.deepcopy(policy), optimizer)
    answers = {step: answer.tolist() for step, answer in sampler.measured.by_step.items()}
    return save(policy.state_dict()), steps.samples, answers, sampler, len(calls)


@pytest.mark.parametrize("draw", MEASURING, ids=str)
def test_a_task_taken_up_anywhere_between_two_refreshes_ends_with_the_same_bits(draw, tmp_path):
    shelf = Shelf(tmp_path)
    whole = learnt(draw, shelf)
    assert len(shelf.saved) == 5
    for last in list(shelf.saved):
        # Other weights to begin with: a measurement made again would be another.
        again = learnt(draw, Shelf(tmp_path / "again", last), seed=1)
        assert again[:3] == whole[:3]
        np.testing.assert_array_equal(again[3].weights(), whole[3].weights())


@pytest.mark.parametrize("draw", MEASURING, ids=str)
def test_the_passes_that_are_reported_are_those_that_were_made(draw, tmp_path):
    *_, sampler, calls = learnt(draw, Shelf(tmp_path))
    assert calls == FIT.steps_per_task + sampler.passes.forward
    assert sampler.passes.forward > 0


def test_a_snapshot_is_scored_at_the_first_step_that_has_one_before_it(tmp_path):
    *_, sampler, _ = learnt(MEASURING[2], Shelf(tmp_path))
    assert list(sampler.measured.by_step) == [1, 5]
    assert sampler.passes.backward == 0
