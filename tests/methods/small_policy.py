"""The smallest policy that every penalty can be tried on, and what a penalty is asked with."""

import torch
from module_policy import ModulePolicy
from torch import nn

from phaser.core.streams import Streams
from phaser.methods.penalty import FinishedTask, TrainingStep, trained_weights
from phaser.testing.made_up import made_up_task
from phaser.training.frames import FrameTable, TaskFrames

NOISE = Streams(0).named("noise")


class Small(ModulePolicy):
    """A frozen layer, a trained one, a head: chunks of two actions from state and language."""

    offers = frozenset({"features", "outputs"})

    def __init__(self, seed=0):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.frozen = nn.Linear(5, 6).requires_grad_(False)
            self.hidden = nn.Linear(6, 6)
            self.head = nn.Linear(6, 8)

    def forward(self, batch, noise):
        errors = (self.outputs(batch) - batch.actions).abs().mean(2) * batch.valid
        return errors.sum(1) / batch.valid.sum(1)

    def features(self, batch):
        seen = torch.cat([batch.states, batch.language], dim=1)
        return torch.tanh(self.hidden(torch.tanh(self.frozen(seen))))

    def outputs(self, batch):
        return self.head(self.features(batch)).view_as(batch.actions)


def table(*names):
    """Frames of made-up tasks, each with a word of its own."""
    return FrameTable(
        {
            name: TaskFrames.of(made_up_task(name).demos, {}, instruction=str(word), chunk_length=2)
            for word, name in enumerate(names)
        }
    )


def batch_of(frames, refs):
    """The frames as every policy here reads them."""
    return ModulePolicy().batch(frames.samples(refs))


def finished(policy, frames, name, *, num_kept=9):
    """The task of that name has just been learnt; every seventh frame stays."""
    refs = frames.tasks[name].refs(name)
    return FinishedTask(
        task=name,
        policy=policy,
        rows=frames,
        frames=refs,
        kept=refs[3::7][:num_kept],
        stream=Streams(0).named("penalty", name),
    )


def step_of(policy, frames, rehearsed, current):
    """A step after its forward pass, in the only process."""
    samples = frames.samples([*rehearsed, *current])
    return TrainingStep(
        samples=samples,
        losses=losses_of(policy, samples),
        rehearsed=rehearsed,
        is_rehearsing=bool(rehearsed),
        backward=lambda loss: loss.backward(),
        mean=lambda tensor: tensor,
    )


def losses_of(policy, samples):
    """The loss of each of these frames."""
    return policy(policy.batch(samples), NOISE)


def gradient_of(policy, penalty, step):
    """What the penalty leaves in the trained weights, as one vector."""
    policy.zero_grad(set_to_none=True)
    penalty.backward(step)
    return torch.cat([weight.grad.flatten() for weight in trained_weights(policy).values()])


def moved(policy, amount=0.3, seed=9):
    """The policy somewhere else, as after another task."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in trained_weights(policy).values():
            weight += amount * torch.randn(weight.shape, generator=generator)
    return policy
