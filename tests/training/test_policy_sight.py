"""The policy's own features as the sight of phases: described anew whenever a task begins."""

import numpy as np
import pytest
from accelerate import Accelerator
from module_policy import ModulePolicy
from small_policy import Small, batch_of, moved, table

from phaser.core.errors import BadInput
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.memory.reservoir import Reservoir
from phaser.testing.made_up import made_up_task
from phaser.training.fit import Fit
from phaser.training.learner import PolicyLearner
from phaser.training.policy_sight import FRAMES_PER_PHASE, sight_of_policy


def learner_of(policy):
    return PolicyLearner(
        policy=policy,
        frames=table("lift", "pour"),
        fit=Fit(),
        streams=Streams(0),
        accelerator=Accelerator(cpu=True),
    )


@pytest.fixture
def memory():
    kept = Reservoir().select(made_up_task("lift"), 12, Streams(0).named("keep"))
    return Memory(tuple(kept))


def features_of(policy, frames, refs):
    return policy.features(batch_of(frames, refs)).detach().double().mean(0).numpy()


def test_a_stored_phase_is_described_by_the_features_of_its_frames(memory):
    policy = Small()
    learner = learner_of(policy)
    described, _ = sight_of_policy(learner)(memory, made_up_task("pour"))
    for before, after in zip(memory.buckets, described.buckets, strict=True):
        expected = features_of(policy, learner.frames, list(before.frames))
        np.testing.assert_allclose(after.prototype.vision, expected, atol=1e-6)
        assert np.array_equal(after.prototype.language, before.prototype.language)
        assert (after.frames, after.phase) == (before.frames, before.phase)


def test_a_new_phase_is_described_by_up_to_so_many_of_its_frames(memory):
    policy, task = Small(), made_up_task("pour")
    learner = learner_of(policy)
    _, described = sight_of_policy(learner)(memory, task)
    cuts = zip(task.demos, task.segmentations, strict=True)
    refs = [
        ref
        for demo, cut in cuts
        for ref in learner.frames.tasks["pour"].refs("pour")
        if ref.demo == demo.index and cut.phase_at(ref.frame) == 1
    ]
    assert len(refs) <= FRAMES_PER_PHASE
    expected = features_of(policy, learner.frames, refs)
    np.testing.assert_allclose(described.prototypes[1].vision, expected, atol=1e-6)
    assert described.prototypes[0].action is task.prototypes[0].action


def test_phases_look_otherwise_once_the_policy_has_learnt(memory):
    policy = Small()
    describe = sight_of_policy(learner_of(policy))
    before, _ = describe(memory, made_up_task("pour"))
    moved(policy)
    after, _ = describe(memory, made_up_task("pour"))
    again, _ = describe(memory, made_up_task("pour"))
    first, second, third = (one.buckets[0].prototype.vision for one in (before, after, again))
    assert not np.allclose(first, second)
    assert np.array_equal(second, third)


def test_a_policy_without_features_is_refused_in_one_line():
    with pytest.raises(BadInput, match=r"^the vision encoder 'policy' needs features\(batch\)"):
        sight_of_policy(learner_of(ModulePolicy()))
