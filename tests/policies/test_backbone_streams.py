"""Tiny backbones with LoRA in the ordinary trainer: they forget, replay keeps, all methods run."""

import numpy as np
import pytest
import torch
from backbone_streams import TASKS, learnt, loss_of
from robot_samples import BACKBONES, require_backbones

from phaser.core.errors import BadInput
from phaser.methods.table import METHODS

require_backbones()

RATES = {"openvla-oft": 2e-3, "qwen-gr00t": 3e-3, "qwen-oft": 2e-3}
STEPS = {"openvla-oft": 110, "qwen-gr00t": 110, "qwen-oft": 150}
FIRST, SECOND = TASKS


def first_task(name, method):
    """The first task's loss when it was just learnt, and after the second."""
    losses = [
        (loss_of(learner, FIRST), loss_of(learner, SECOND))
        for learner, _ in learnt(name, method, steps=STEPS[name], rate=RATES[name])
    ]
    return {"learnt": losses[0][0], "after": losses[1][0], "second": losses[1][1]}


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKBONES)
def test_a_task_is_forgotten_in_sequence_and_kept_by_phaser(name):
    alone, kept = first_task(name, "sequential"), first_task(name, "phaser")
    assert alone["learnt"] == kept["learnt"]
    assert alone["after"] > 4 * alone["learnt"]
    assert kept["after"] < alone["after"] / 5
    # The first task is not kept by not learning the second.
    assert max(alone["second"], kept["second"]) < alone["after"] / 4


@pytest.mark.parametrize("method", ["mir", "mir-snapshot", "icarl", "der", "agem", "ewc"])
@pytest.mark.parametrize("name", BACKBONES)
def test_every_method_that_touches_the_policy_trains_adapters_and_head_alone(name, method):
    frozen = {}
    for learner, finished in learnt(name, method, steps=3, batch_size=4):
        policy = learner.policy
        base = {key: one for key, one in policy.named_parameters() if not one.requires_grad}
        if not frozen:
            frozen = {key: one.clone() for key, one in base.items()}
            before = {key: one.clone() for key, one in policy.trained_state().items()}
        assert np.isfinite(finished.loss)
    moved = {
        key for key, one in policy.trained_state().items() if not torch.equal(one, before[key])
    }
    assert moved == set(before)
    assert all(torch.equal(one, frozen[key]) for key, one in base.items())
    assert set(finished.state.penalty) or not METHODS[method].asks


def test_a_batch_in_parts_gives_the_curve_of_the_whole():
    whole, parts, ahead = (
        [finished.loss for _, finished in learnt("qwen-gr00t", "phaser", steps=4, **how)]
        for how in ({}, {"gradient_accumulation": 4}, {"read_ahead": 3})
    )
    assert parts == pytest.approx(whole, rel=1e-4)
    assert ahead == whole


def test_parts_that_are_refused_say_why():
    with pytest.raises(BadInput, match=r"batch_size 8 over 1 processes .* multiple of 3"):
        list(learnt("qwen-oft", "er", steps=1, gradient_accumulation=3))
    with pytest.raises(BadInput, match="agem needs the gradient of a whole batch"):
        list(learnt("qwen-oft", "agem", steps=1, gradient_accumulation=2))
