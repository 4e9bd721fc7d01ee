"""Imagined frames: recorded images, the policy's own actions, less drift between kept ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from small_policy import Small, finished, table

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.measurements import Measurements, Passes
from phaser.core.streams import Streams
from phaser.experiments.learner import PolicyLearner
from phaser.methods.imagined import TASK, Imagined
from phaser.methods.table import METHODS
from phaser.testing.made_up import made_up_task
from phaser.training.fit import Fit
from phaser.training.stream import learn_stream

STREAMS = Streams(0)
STREAM = STREAMS.named("imagined")


class Drawn:
    """Draws the same stored frames in turn."""

    def __init__(self, refs):
        self.refs = refs

    def next(self, count, step):
        return [self.refs[(step + k) % len(self.refs)] for k in range(count)]

    def weights(self):
        return np.full(3, 1 / 3)


@pytest.fixture
def begun():
    """Two tasks are learnt, a third begins."""
    frames, policy, left, kept = table("lift", "pour", "push"), Small(), {}, []
    rule = Imagined(copies=3)
    for name in ("lift", "pour"):
        done = finished(policy, frames, name, num_kept=5)
        left, kept = rule.after_task(left, done), [*kept, *done.kept]
    return rule, frames, policy, left, kept


def test_what_is_left_is_the_policys_own_answer_beside_the_kept_frames(begun):
    _, frames, policy, left, kept = begun
    lift = [ref for ref in kept if ref.task == "lift"]
    batch = frames.batch([ref for ref in lift for _ in range(3)])
    states = left["states/lift"]
    assert (states != batch.states).any(1).all()
    spread = (states - batch.states).std(0) / batch.states.std(0)
    assert ((spread > 0.08) & (spread < 0.4)).all()
    said = policy.outputs(replace(batch, states=states)).detach()
    assert torch.equal(left["actions/lift"], said)


def test_frames_give_way_to_frames_beside_them(begun):
    rule, frames, policy, left, kept = begun
    sampler = rule.imagined(Drawn(kept), left, frames, STREAM)
    pairs = zip(Drawn(kept).next(600, 0), sampler.next(600, 0), strict=True)
    replaced = [(old, new) for old, new in pairs if old != new]
    assert 0.25 < len(replaced) / 600 < 0.35
    assert {ref.task for _, ref in replaced} == {TASK}
    assert len({ref.frame for _, ref in replaced}) == 3 * len(kept)
    assert [frames.imagined[TASK].shown[new.frame] for _, new in replaced] == [
        old for old, _ in replaced
    ]
    before, after = (frames.batch(refs) for refs in zip(*replaced, strict=True))
    assert torch.equal(before.language, after.language)
    assert torch.equal(before.valid, after.valid)
    assert (before.states != after.states).any(1).all()
    with torch.no_grad():
        assert torch.allclose(policy.outputs(after), after.actions, atol=1e-6)
    assert sampler.weights().tolist() == Drawn(kept).weights().tolist()


def test_recorded_and_imagined_frames_mix_in_any_order(begun):
    rule, frames, _, left, kept = begun
    rule.imagined(Drawn(kept), left, frames, STREAM)
    refs = [FrameRef(TASK, 0, 4), kept[7], FrameRef(TASK, 0, 0), kept[0]]
    batch = frames.batch(refs)
    for row, ref in enumerate(refs):
        alone = frames.batch([ref])
        assert torch.equal(alone.states[0], batch.states[row])
        assert torch.equal(alone.actions[0], batch.actions[row])


def test_the_same_step_gives_the_same_frames_and_a_share_of_zero_none(begun):
    rule, frames, _, left, kept = begun
    sampler = rule.imagined(Drawn(kept), left, frames, STREAM)
    assert sampler.next(32, 7) == sampler.next(32, 7)
    assert sampler.next(32, 7) != sampler.next(32, 8)
    none = replace(rule, share=0.0)
    assert none.imagined(Drawn(kept), left, frames, STREAM).next(32, 7) == Drawn(kept).next(32, 7)


def test_nothing_is_imagined_before_a_task_is_finished(begun):
    rule, frames, policy, _, kept = begun
    drawn = Drawn(kept)
    assert rule.imagined(drawn, {}, frames, STREAM) is drawn
    assert rule.after_task({}, replace(finished(policy, frames, "lift"), kept=[])) == {}


def test_a_draw_that_measures_and_a_share_above_one_are_refused(begun):
    rule, frames, _, left, kept = begun
    sampler = Drawn(kept)
    sampler.measured, sampler.passes, sampler.after_step = Measurements(), Passes(), print
    with pytest.raises(BadInput, match="a draw that measures"):
        rule.imagined(sampler, left, frames, STREAM)
    with pytest.raises(BadInput, match=r"share 1\.5"):
        Imagined(share=1.5)
    with pytest.raises(BadInput, match="copies 0"):
        Imagined(copies=0)


def test_rows_that_do_not_fit_the_frames_shown_are_refused():
    frames = table("lift")
    refs = frames.tasks["lift"].refs("lift")[:3]
    batch = frames.batch(refs)
    with pytest.raises(BadInput, match="2 frames are shown"):
        frames.imagine("x", refs[:2], {"states": [batch.states], "actions": [batch.actions]})


def final_drift(name):
    """How far the policy moves on all of the first task while it learns the second."""
    frames, policy, tasks = (
        table("lift", "pour"),
        Small(),
        [made_up_task("lift"), made_up_task("pour")],
    )
    fit = Fit(steps_per_task=150, batch_size=16, learning_rate=1e-2)
    learner = PolicyLearner(
        policy=policy, frames=frames, fit=fit, streams=STREAMS, accelerator=Accelerator(cpu=True)
    )
    stream = learn_stream(tasks, learner, METHODS[name].with_budget(4), STREAMS)
    everything = frames.batch(frames.tasks["lift"].refs("lift"))
    next(stream)
    before = policy.outputs(everything).detach()
    next(stream)
    return float((policy.outputs(everything).detach() - before).abs().mean())


def test_a_policy_drifts_less_between_its_kept_frames():
    assert final_drift("er-imagined") < 0.8 * final_drift("er-even")
