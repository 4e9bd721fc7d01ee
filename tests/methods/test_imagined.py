"""Imagined frames: moved images, the policy's own actions, less drift between kept ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from small_policy import Small, finished, table

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.measurements import Measurements, Passes
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.methods.imagined import BESIDE, IMAGINED, Imagined
from phaser.methods.penalty import BegunTask
from phaser.methods.table import METHODS
from phaser.testing.made_up import made_up_task
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable
from phaser.training.learner import PolicyLearner
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


def task_begins(frames, policy, name="push", memory=None):
    return BegunTask(
        task=made_up_task(name),
        policy=policy,
        memory=memory or Memory(),
        frames=frames.tasks[name].refs(name),
        rows=frames,
        stream=STREAM,
    )


@pytest.fixture
def begun():
    """Two tasks are learnt, a third begins; only frames beside stored ones are imagined."""
    frames, policy, left, kept = table("lift", "pour", "push"), Small(), {}, []
    rule = Imagined(share=0.3, copies=3, state_noise=0.2, asked_share=0.0)
    for name in ("lift", "pour"):
        done = finished(policy, frames, name, num_kept=5)
        left, kept = rule.after_task(left, done), [*kept, *done.kept]
    return rule, task_begins(frames, policy), left, kept


def test_what_is_left_is_the_policys_own_answer_beside_the_kept_frames(begun):
    _, task, left, kept = begun
    lift = [ref for ref in kept if ref.task == "lift"]
    batch = task.rows.batch([ref for ref in lift for _ in range(3)])
    states = left["states/lift"]
    assert (states != batch.states).any(1).all()
    spread = (states - batch.states).std(0) / batch.states.std(0)
    assert ((spread > 0.08) & (spread < 0.4)).all()
    said = task.policy.outputs(replace(batch, states=states)).detach()
    assert torch.equal(left["actions/lift"], said)


def test_frames_give_way_to_frames_beside_them(begun):
    rule, task, left, kept = begun
    sampler = rule.imagined(Drawn(kept), left, task)
    pairs = zip(Drawn(kept).next(600, 0), sampler.next(600, 0), strict=True)
    replaced = [(old, new) for old, new in pairs if old != new]
    assert 0.25 < len(replaced) / 600 < 0.35
    assert {new.task for _, new in replaced} == {IMAGINED}
    assert {(new.frame // 3, kept.index(old)) for old, new in replaced} == {
        (k, k) for k in range(10)
    }
    assert len({new for _, new in replaced}) == 3 * len(kept)
    before, after = (task.rows.batch(refs) for refs in zip(*replaced, strict=True))
    assert torch.equal(before.language, after.language)
    assert torch.equal(before.valid, after.valid)
    assert (before.states != after.states).any(1).all()
    with torch.no_grad():
        assert torch.allclose(task.policy.outputs(after), after.actions, atol=1e-6)
    assert sampler.weights().tolist() == Drawn(kept).weights().tolist()


def test_recorded_and_imagined_frames_mix_in_any_order(begun):
    rule, task, left, kept = begun
    rule.imagined(Drawn(kept), left, task)
    refs = [FrameRef(IMAGINED, 0, 19), kept[7], FrameRef(BESIDE + "lift", 0, 0), kept[0]]
    batch = task.rows.batch(refs)
    for row, ref in enumerate(refs):
        alone = task.rows.batch([ref])
        assert torch.equal(alone.states[0], batch.states[row])
        assert torch.equal(alone.actions[0], batch.actions[row])
        assert torch.equal(alone.language[0], batch.language[row])
    # Fifteen frames beside lift come first.
    assert torch.equal(
        batch.states[0], task.rows.batch([FrameRef(BESIDE + "pour", 0, 4)]).states[0]
    )


def test_the_same_step_gives_the_same_frames_and_a_share_of_zero_none(begun):
    rule, task, left, kept = begun
    sampler = rule.imagined(Drawn(kept), left, task)
    assert sampler.next(32, 7) == sampler.next(32, 7)
    assert sampler.next(32, 7) != sampler.next(32, 8)
    none = replace(rule, share=0.0)
    assert none.imagined(Drawn(kept), left, task).next(32, 7) == Drawn(kept).next(32, 7)


def test_nothing_is_imagined_before_a_task_is_finished(begun):
    rule, task, _, kept = begun
    drawn = Drawn(kept)
    assert rule.imagined(drawn, {}, task) is drawn
    assert rule.after_task({}, replace(finished(task.policy, task.rows, "lift"), kept=[])) == {}


def test_a_draw_that_measures_and_shares_above_one_are_refused(begun):
    rule, task, left, kept = begun
    sampler = Drawn(kept)
    sampler.measured, sampler.passes, sampler.after_step = Measurements(), Passes(), print
    with pytest.raises(BadInput, match="a draw that measures"):
        rule.imagined(sampler, left, task)
    with pytest.raises(BadInput, match=r"share 0\.9, asked_share 0\.2"):
        Imagined(share=0.9, asked_share=0.2)
    with pytest.raises(BadInput, match="copies 0"):
        Imagined(copies=0)
    with pytest.raises(BadInput, match=r"image_shift -1\.0"):
        Imagined(image_shift=-1.0)


def with_maps(frames):
    """The same tasks, seen as maps of six by eight, each frame another."""
    rng = np.random.default_rng(0)
    new = {
        name: replace(one, inputs={"map": rng.random((one.num_frames, 2, 6, 8)).astype(np.float16)})
        for name, one in frames.tasks.items()
    }
    return FrameTable(new)


def test_images_beside_stored_ones_are_moved_and_again_the_same_when_taken_up_again():
    frames, policy = with_maps(table("lift", "push")), Small()
    done = finished(policy, frames, "lift", num_kept=5)
    rule = Imagined(copies=3, asked_share=0.0)
    left = rule.after_task({}, done)
    again = with_maps(table("lift", "push"))
    for rows in (frames, again):
        rule.imagined(Drawn(done.kept), left, task_begins(rows, policy))
    refs = [FrameRef(BESIDE + "lift", 0, k) for k in range(15)]
    still = frames.batch(done.kept).inputs
    beside = frames.batch(refs).inputs["map"]
    assert (beside != still["map"].repeat_interleave(3, 0)).flatten(1).any(1).all()
    assert torch.equal(beside, moved(still, left["moves/lift"])["map"])
    assert torch.equal(beside, again.batch(refs).inputs["map"])
    assert left["moves/lift"].abs().max() <= rule.image_shift


def test_a_move_shifts_an_image_repeats_its_edge_and_leaves_vectors_alone():
    image, vector = torch.arange(12.0).view(1, 1, 3, 4), torch.ones(1, 5)
    moves = torch.tensor([[0.0, 0.25], [1 / 3, -0.125], [0.0, 0.0]])
    new = moved({"image": image, "vector": vector}, moves)
    assert torch.equal(new["vector"], vector.repeat(3, 1))
    assert new["image"][0, 0].tolist() == [[1, 2, 3, 3], [5, 6, 7, 7], [9, 10, 11, 11]]
    assert torch.allclose(
        new["image"][1, 0],
        torch.tensor([[4, 4.5, 5.5, 6.5], [8, 8.5, 9.5, 10.5], [8, 8.5, 9.5, 10.5]]),
        atol=1e-5,
    )
    assert torch.equal(new["image"][2], image[0])
    pixels = image[:, 0, :, :, None].repeat(1, 1, 1, 3).to(torch.uint8)
    colours = moved({"pixels": pixels}, moves)["pixels"]
    assert torch.equal(colours[0, :, :, 1], new["image"][0, 0].to(torch.uint8))
    assert (colours.dtype, colours.shape) == (torch.uint8, (3, 3, 4, 3))


def test_joined_frames_are_held_once():
    frames = table("lift", "pour")
    for name in ("lift", "pour"):
        frames.imagine("like " + name, frames.batch(frames.tasks[name].refs(name)[:3]))
    frames.imagine("of an earlier task", frames.batch(frames.tasks["lift"].refs("lift")[:1]))
    frames.join("both", ["like pour", "like lift"])
    both = frames.imagined["both"]
    assert both.num_frames == 6
    assert "of an earlier task" not in frames
    assert np.shares_memory(both.states, frames.imagined["like lift"].states)
    new = frames.batch([FrameRef("both", 0, 4)])
    assert torch.equal(new.states, frames.batch(frames.tasks["lift"].refs("lift")[1:2]).states)
    with pytest.raises(BadInput, match="not among"):
        frames.batch([FrameRef("both", 0, 6)])


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
