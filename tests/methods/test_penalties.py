"""The penalties: each against what its paper says, by numbers that can be worked out."""

import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from module_policy import ModulePolicy
from safetensors.torch import load, save
from small_policy import Small, batch_of, finished, gradient_of, losses_of, moved, step_of, table
from torch import nn

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.methods.dark import Dark, stored_outputs
from phaser.methods.distill import Distil
from phaser.methods.elastic import Elastic, fisher
from phaser.methods.no_penalty import NoPenalty
from phaser.methods.penalty import FinishedTask, trained_weights
from phaser.methods.projected import Projected, project
from phaser.methods.table import METHODS
from phaser.methods.teacher import Teacher
from phaser.training.frames import FrameTable

RULES = [NoPenalty(), Distil(), Dark(), Projected(), Elastic()]
FRAMES = table("lift", "pour")
LIFT, POUR = (FRAMES.tasks[name].refs(name) for name in ("lift", "pour"))


def plain_gradient(policy, losses):
    weights = list(trained_weights(policy).values())
    return torch.cat([one.flatten() for one in torch.autograd.grad(losses.mean(), weights)])


def dot(one, two):
    return float(one.double() @ two.double())


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_without_an_earlier_task_every_penalty_is_none(rule):
    policy = Small()
    step = step_of(policy, FRAMES, [], POUR[:6])
    found = gradient_of(policy, rule.for_task(policy, {}), step)
    assert torch.equal(found, plain_gradient(policy, losses_of(policy, step.samples)))


def test_no_penalty_goes_down_on_the_mean_loss_to_the_bit():
    policy = Small()
    step = step_of(policy, FRAMES, LIFT[:4], POUR[:4])
    expected = plain_gradient(policy, losses_of(policy, step.samples))
    assert torch.equal(gradient_of(policy, NoPenalty(), step), expected)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_what_is_recorded_is_the_loss_of_the_batch_whatever_the_penalty(rule):
    policy = Small()
    left = rule.after_task({}, finished(policy, FRAMES, "lift"))
    step = step_of(moved(policy), FRAMES, LIFT[3::7][:4], POUR[:4])
    recorded = rule.for_task(policy, left).backward(step)
    assert torch.equal(recorded, step.losses.mean())


vectors = partial(st.lists, st.floats(-10, 10, width=32), min_size=5, max_size=5)


@settings(max_examples=100)
@given(gradient=vectors().map(torch.tensor), reference=vectors().map(torch.tensor))
def test_a_projected_gradient_never_points_against_the_reference(gradient, reference):
    found = project(gradient, reference)
    slack = 1e-6 * float(gradient.norm() * reference.norm()) + 1e-30
    assert dot(found, reference) >= -slack
    if dot(gradient, reference) >= 0:
        assert torch.equal(found, gradient)
    else:
        # The nearest such vector: what was taken away lies along the reference.
        assert dot(found, gradient) >= -slack
        assert float(found.norm()) <= float(gradient.norm()) * (1 + 1e-6)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 7))
def test_a_gem_never_raises_the_reference_loss_to_first_order(seed, count):
    policy = moved(Small(seed), amount=1.0, seed=seed)
    step = step_of(policy, FRAMES, LIFT[seed % 50 :: 11][:count], POUR[seed % 40 :: 9][:5])
    losses = losses_of(policy, step.samples)
    reference = plain_gradient(policy, losses[:count])
    current = plain_gradient(policy, losses_of(policy, step.samples)[count:])
    found = gradient_of(policy, Projected().for_task(policy, {}), step)
    assert dot(found, reference) >= -1e-6 * float(found.norm() * reference.norm())
    if dot(current, reference) >= 0:
        torch.testing.assert_close(found, current)


def test_a_gem_projects_where_the_tasks_disagree():
    """One frame rehearsed and its own opposite learnt: all of the gradient is taken away."""
    policy = Small()
    step = step_of(policy, FRAMES, LIFT[:1], LIFT[:1])
    opposite = torch.stack([step.losses[0], -step.losses[1]])
    object.__setattr__(step, "losses", opposite)
    found = gradient_of(policy, Projected().for_task(policy, {}), step)
    assert float(found.abs().max()) < 1e-6


class Gaussian(ModulePolicy):
    """Actions with mean θ·x and known deviation: loss is the negative log-likelihood."""

    deviation = 0.5

    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([0.3, -0.7]))
        self.offset = nn.Parameter(torch.zeros(1), requires_grad=False)

    def batch(self, samples, *, augment=None):
        return samples

    def forward(self, batch, noise):
        inputs, labels = batch
        return (labels - inputs @ self.slope).square() / (2 * self.deviation**2)


def gaussian_task(inputs, labels):
    class Rows(FrameTable):
        def samples(self, refs):
            return tuple(all_of[[ref.frame for ref in refs]] for all_of in (inputs, labels))

    return FinishedTask(
        task="gauss",
        policy=Gaussian(),
        rows=Rows(),
        frames=[FrameRef("gauss", 0, row) for row in range(len(inputs))],
        kept=[],
        stream=Streams(0).named("penalty"),
    )


def test_the_fisher_information_of_a_gaussian_model_is_the_analytic_one():
    model, count = Gaussian(), 1500
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(count, 2, generator=generator) * torch.tensor([1.0, 3.0])
    spread = torch.randn(count, generator=generator)
    labels = (inputs @ model.slope).detach() + model.deviation * spread
    found = fisher(gaussian_task(inputs, labels), num_frames=count)
    assert set(found) == {"slope"}
    # Given these labels, exactly; with labels from the model itself, E[x²] / σ².
    exact = (spread[:, None] * inputs / model.deviation).square().mean(0)
    torch.testing.assert_close(found["slope"], exact, rtol=1e-4, atol=1e-5)
    analytic = inputs.square().mean(0) / model.deviation**2
    torch.testing.assert_close(found["slope"], analytic, rtol=0.15, atol=0.0)


def test_residuals_of_one_deviation_give_the_gaussian_fisher_exactly():
    model = Gaussian()
    inputs = torch.tensor([[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]])
    signs = torch.tensor([1.0, -1.0, 1.0])
    labels = (inputs @ model.slope).detach() + model.deviation * signs
    found = fisher(gaussian_task(inputs, labels), num_frames=9)
    analytic = inputs.square().mean(0) / model.deviation**2
    torch.testing.assert_close(found["slope"], analytic, rtol=1e-5, atol=1e-6)


def test_elastic_pulls_by_fisher_times_distance_and_merges_the_tasks():
    policy, rule = Small(), Elastic(strength=7.0, decay=0.5, num_frames=20)
    first = rule.after_task({}, finished(policy, FRAMES, "lift"))
    second = rule.after_task(first, finished(moved(policy), FRAMES, "pour"))
    anchor = {name: weight.detach().clone() for name, weight in trained_weights(policy).items()}
    alone = fisher(finished(policy, FRAMES, "pour"), num_frames=20)
    assert set(anchor) == {"hidden.weight", "hidden.bias", "head.weight", "head.bias"}
    for name, weight in anchor.items():
        assert torch.equal(second[f"anchor/{name}"], weight)
        merged = 0.5 * first[f"fisher/{name}"] + alone[name]
        assert torch.equal(second[f"fisher/{name}"], merged)
    moved(policy, seed=4)
    step = step_of(policy, FRAMES, [], LIFT[:5])
    found = gradient_of(policy, rule.for_task(policy, second), step)
    pull = [7.0 * second[f"fisher/{k}"] * (w.detach() - anchor[k]) for k, w in _trained(policy)]
    expected = plain_gradient(policy, losses_of(policy, step.samples)) + torch.cat(
        [one.flatten() for one in pull]
    )
    torch.testing.assert_close(found, expected)


def _trained(policy):
    return list(trained_weights(policy).items())


def test_the_target_of_dark_replay_is_what_was_stored_bit_for_bit():
    policy, rule = Small(), Dark()
    done = finished(policy, FRAMES, "lift")
    with torch.no_grad():
        said = policy.outputs(batch_of(FRAMES, done.kept)).clone()
    left = rule.after_task({}, done)
    left = rule.after_task(left, finished(moved(policy), FRAMES, "pour"))
    stored = stored_outputs(load(save(dict(left))))
    assert len(stored) == 18
    for ref, expected in zip(done.kept, said, strict=True):
        assert torch.equal(stored[ref], expected)


def test_dark_replay_goes_down_on_the_distance_and_not_on_the_labels():
    policy, rule = Small(), Dark(weight=2.0)
    left = rule.after_task({}, finished(policy, FRAMES, "lift"))
    kept, current = LIFT[3::7][:4], POUR[:6]
    stored = stored_outputs(left)
    step = step_of(moved(policy), FRAMES, kept, current)
    found = gradient_of(policy, rule.for_task(policy, left), step)
    batch = batch_of(FRAMES, kept)
    assert batch.valid.all()
    target = torch.stack([stored[ref] for ref in kept])
    distances = 2.0 * (policy.outputs(batch) - target).square().mean((1, 2))
    own = losses_of(policy, FRAMES.samples(current))
    torch.testing.assert_close(found, plain_gradient(policy, torch.cat([distances, own])))
    labelled = Dark(weight=0.0, label_weight=1.0).for_task(policy, left)
    step = step_of(policy, FRAMES, kept, current)
    losses = losses_of(policy, step.samples)
    found = gradient_of(policy, labelled, step)
    torch.testing.assert_close(found, plain_gradient(policy, losses))


def test_actions_beyond_the_end_of_a_demonstration_are_not_held():
    policy, rule = Small(), Dark()
    last = [ref for ref in LIFT if FRAMES.samples([ref]).valid.sum() == 1][:2]
    done = finished(policy, FRAMES, "lift")
    object.__setattr__(done, "kept", last)
    left = dict(rule.after_task({}, done))
    step = step_of(moved(policy), FRAMES, last, POUR[:2])
    first = gradient_of(policy, rule.for_task(policy, left), step)
    left["outputs/lift"] = left["outputs/lift"].clone()
    left["outputs/lift"][:, 1] += 5.0
    step = step_of(policy, FRAMES, last, POUR[:2])
    assert torch.equal(gradient_of(policy, rule.for_task(policy, left), step), first)


def test_the_teacher_holds_trained_weights_only_and_answers_as_the_policy_did():
    policy = Small()
    left = Distil().after_task({}, finished(policy, FRAMES, "lift"))
    assert set(left) == set(trained_weights(policy))
    assert not any(name.startswith("frozen") for name in left)
    batch = batch_of(FRAMES, LIFT[:5])
    expected = policy.features(batch).detach()
    teacher = Teacher(moved(policy), left, read="features")
    assert torch.equal(teacher(batch), expected)
    assert not teacher(batch).requires_grad
    assert not torch.equal(policy.features(batch), expected)
    # What it holds itself are those weights; the rest is the policy's own, now.
    assert sum(w.numel() for w in teacher.weights.values()) == 6 * 6 + 6 + 6 * 8 + 8
    with torch.no_grad():
        policy.frozen.bias += 1.0
    assert not torch.equal(teacher(batch), expected)


def test_distillation_adds_the_mean_squared_difference_of_features():
    policy, rule = Small(), Distil(weight=3.0)
    left = rule.after_task({}, finished(policy, FRAMES, "lift"))
    old = batch_of(FRAMES, LIFT[:4])
    before = policy.features(old).detach()
    step = step_of(moved(policy), FRAMES, LIFT[:4], POUR[:6])
    found = gradient_of(policy, rule.for_task(policy, left), step)
    distance = (policy.features(old) - before).square().mean()
    losses = losses_of(policy, step.samples)
    torch.testing.assert_close(found, plain_gradient(policy, losses + 3.0 * distance))


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        (Distil, {"weight": -1.0}),
        (Dark, {"weight": float("nan")}),
        (Dark, {"label_weight": float("inf")}),
        (Elastic, {"strength": -0.1}),
        (Elastic, {"decay": -1.0}),
        (Elastic, {"num_frames": 0}),
    ],
)
def test_settings_that_make_no_sense_are_refused(rule, wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        rule(**wrong)


def test_a_joint_method_takes_no_penalty():
    joint = METHODS["joint"]
    with pytest.raises(BadInput, match="Projected protects earlier tasks"):
        replace(joint, penalty=Projected())


def test_listing_the_methods_does_not_import_torch():
    code = "import sys, phaser.methods.table; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
