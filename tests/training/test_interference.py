"""Virtual steps: equal to brute force, without a trace on the policy, the same on every process."""

import copy
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from probed_policies import FIT, STORED, Flow, Linear, learner_of, probe_of, sampler_of, table
from safetensors.torch import save
from scipy import stats

from phaser.core.errors import BadInput
from phaser.core.streams import Stream, Streams
from phaser.routing.max_interference import MaxInterference
from phaser.training.fit import Fit
from phaser.training.interference import fresh_gradient, loss_increases

RATE = 0.05


def rows(refs):
    samples = table().samples(refs)
    return samples.states.astype(np.float64), samples.actions[:, 0].astype(np.float64)


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
    assert set(sampler.next(32, 0)) == worst


def test_a_snapshot_steps_along_the_gradient_that_is_there():
    policy = Linear().double()
    weight = policy.out.weight.detach().numpy()
    policy.out.weight.grad = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 4)))
    expected = brute_force(weight, policy.out.weight.grad.numpy())
    found = probe_of(policy).interference(STORED, step=1, learning_rate=RATE, variant="snapshot")
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_snapshot_without_a_gradient_is_refused():
    with pytest.raises(BadInput, match="no gradient is left of the step before"):
        probe_of(Linear()).interference(STORED, step=1, learning_rate=RATE, variant="snapshot")


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


def test_losses_of_a_policy_in_bfloat16_can_be_asked_for():
    found = probe_of(Linear().bfloat16())(STORED)
    np.testing.assert_allclose(found, probe_of(Linear())(STORED), rtol=0.1)
    assert found.dtype == np.float32


def test_the_same_noise_before_and_after_finds_the_true_interference_on_a_flow_head():
    """Facts on backbones, 8: a difference of losses drowns in noise that is not shared."""
    policy, frames = Flow(), table()
    batch = policy.batch(frames.samples(STORED))
    current = frames.samples(frames.tasks["pour"].refs("pour")[::9])
    gradient = fresh_gradient(policy, policy.batch(current), Stream(1), out_of=len(current))
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

        return SimpleNamespace(
            process_index=index,
            num_processes=len(self.parts),
            reduce=reduce,
            device=torch.device("cpu"),
        )


@pytest.mark.parametrize("variant", ["virtual", "snapshot"])
@pytest.mark.parametrize("batch_size", [2, 8])
def test_all_processes_make_the_same_passes_and_agree(batch_size, variant):
    fit = Fit(batch_size=batch_size)
    together, found, passes = Together(3), {}, {}
    # Made here: in threads they would take turns at torch's seed.
    policies = [Linear() for _ in range(3)]

    def scores(policy, **settings):
        policy.out.weight.grad = torch.ones_like(policy.out.weight)
        probe = probe_of(policy, fit=fit, **settings)
        return probe.interference(STORED, step=2, learning_rate=RATE, variant=variant)

    def run(index):
        policy, passes[index] = policies[index], 0

        def count(*_):
            passes[index] += 1

        policy.register_forward_hook(count)
        found[index] = scores(policy, accelerator=together.accelerator(index))

    threads = [threading.Thread(target=run, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [passes[index] for index in range(3)] == [3 if variant == "virtual" else 2] * 3
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    np.testing.assert_allclose(found[0], scores(Linear()), rtol=1e-3, atol=1e-6)
