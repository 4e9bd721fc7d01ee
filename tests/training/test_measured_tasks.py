"""Tasks whose draws ask the policy: taken up between any two answers they end alike."""

import copy

import numpy as np
import pytest
import torch
from probed_policies import FIT, STORED, TASKS, Linear, learner_of, probe_of, sampler_of, table
from safetensors.torch import save

from phaser.core.streams import Stream
from phaser.routing.adaptive import Adaptive
from phaser.routing.max_interference import MaxInterference
from phaser.training.checkpoint import Steps, read_state, write_state

MEASURING = [
    MaxInterference(refreshes_per_task=2, num_cached=4),
    MaxInterference(every_step=True, num_cached=4),
    MaxInterference(refreshes_per_task=2, num_cached=4, variant="snapshot"),
    Adaptive(measure_every=4, probes_per_phase=2),
]


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
    learner = learner_of(policy, checkpointer=shelf)
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
    assert list(sampler.measured.by_step) == [1, 6]
    assert sampler.passes.backward == 0


def test_a_snapshot_is_scored_along_the_gradient_of_the_step_before(tmp_path):
    draw = MaxInterference(num_candidates=len(STORED), variant="snapshot")
    _, samples, answers, *_ = learnt(draw, Shelf(tmp_path))
    policy = Linear()
    optimizer = torch.optim.AdamW(
        policy.parameters(), lr=FIT.learning_rate, weight_decay=FIT.weight_decay, fused=True
    )
    policy(policy.batch(table().samples(samples[0])), Stream(0)).mean().backward()
    optimizer.step()
    expected = probe_of(policy).interference(
        STORED, step=1, learning_rate=draw.learning_rate, variant="snapshot"
    )
    # Candidates come in an order of their own.
    np.testing.assert_allclose(np.sort(answers[1]), np.sort(expected), rtol=1e-3, atol=1e-9)
    assert np.count_nonzero(expected) > len(STORED) / 2
