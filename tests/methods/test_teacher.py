"""The previous policy as a teacher: it answers the same whatever the pupil is doing."""

import torch
from small_policy import Small, batch_of, finished, moved, table
from torch import nn

from phaser.methods.distill import Distil
from phaser.methods.teacher import Teacher

FRAMES = table("lift")
BATCH = batch_of(FRAMES, FRAMES.tasks["lift"].refs("lift")[:6])


class Dropping(Small):
    """Forgets half of its features while it is trained, and keeps statistics of them."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.scale = nn.BatchNorm1d(6)

    def features(self, batch):
        return self.drop(self.scale(super().features(batch)))


def test_a_teacher_neither_drops_nor_counts_while_the_pupil_is_trained():
    policy = Dropping().eval()
    left = Distil().after_task({}, finished(policy, FRAMES, "lift"))
    expected = policy.features(BATCH).detach()
    moved(policy).train()
    policy.drop.eval()
    statistics = policy.scale.running_mean.clone()
    teacher = Teacher(policy, left, read="features")
    assert torch.equal(teacher(BATCH), expected)
    assert torch.equal(policy.scale.running_mean, statistics)
    assert (policy.training, policy.scale.training, policy.drop.training) == (True, True, False)
