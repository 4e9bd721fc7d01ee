"""Two small policies, what they have stored, and the learner that asks them about it."""

import torch
from accelerate import Accelerator
from module_policy import ModulePolicy
from torch import nn

from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.memory.reservoir import Reservoir
from phaser.policies.row_noise import RowNoise
from phaser.policies.tiny.network import FlowHead
from phaser.testing.made_up import made_up_task
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable, TaskFrames
from phaser.training.learner import PolicyLearner
from phaser.training.probe import PolicyProbe

TASKS = {name: made_up_task(name) for name in ("lift", "push", "pour")}
FIT = Fit(steps_per_task=9, batch_size=8, warm_up=0, checkpoint_every_steps=2)
ALONE = Accelerator(cpu=True)


class Linear(ModulePolicy):
    """The next action, linear in the state, in whichever precision the weights have."""

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.out = nn.Linear(4, 4, bias=False)

    def forward(self, batch, noise):
        seen = batch.states.to(self.out.weight.dtype)
        return (self.out(seen) - batch.actions[:, 0].to(seen.dtype)).square().mean(1)


class Flow(ModulePolicy):
    """A flow-matching head behind one layer: its loss depends on noise and time."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.seen = nn.Linear(4, 32)
        self.head = FlowHead(32, 8)

    def forward(self, batch, noise):
        draws = RowNoise(noise, places=batch.places, num_places=batch.num_places)
        features = self.seen(batch.states).relu()
        return self.head.losses(features, batch.actions.flatten(1), draws).mean(1)


def table():
    return FrameTable(
        {
            name: TaskFrames.of(task.demos, {}, instruction="0", chunk_length=2)
            for name, task in TASKS.items()
        }
    )


def memory():
    kept = Memory()
    for name in ("lift", "push"):
        stream = Streams(0).named("keep", name)
        kept = kept.with_buckets(Reservoir().select(TASKS[name], 12, stream))
    return kept


STORED = [frame for bucket in memory().buckets for frame in bucket.frames]


def learner_of(policy, *, accelerator=ALONE, fit=FIT, checkpointer=None):
    return PolicyLearner(
        policy=policy,
        frames=table(),
        fit=fit,
        streams=Streams(0),
        accelerator=accelerator,
        checkpointer=checkpointer,
    )


def probe_of(policy, **settings):
    return PolicyProbe(learner=learner_of(policy, **settings), task="pour")


def sampler_of(draw, learner):
    stream = Streams(0).named("draw", "pour")
    probe = PolicyProbe(learner=learner, task="pour")
    return draw.for_task(memory(), TASKS["pour"], stream, probe)
