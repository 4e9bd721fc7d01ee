"""Imagined frames: moved images, the policy's own actions, less drift between kept ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from small_policy import Small, batch_of, finished, table

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.core.measurements import Measurements
from phaser.core.memory import Memory
from phaser.core.ports import Sampler
from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.methods.answers import answers
from phaser.methods.imagined import BESIDE, IMAGINED, Imagined
from phaser.methods.rehearse import BegunTask
from phaser.methods.shifted_images import shifted
from phaser.methods.table import METHODS
from phaser.testing.made_up import made_up_task
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable
from phaser.training.learner import PolicyLearner
from phaser.training.stream import TaskStream

STREAMS = Streams(0)
STREAM = STREAMS.named("imagined")


class Drawn(Sampler):
    """Draws the same stored frames in turn."""

    def __init__(self, refs):
        self.refs = refs

    def next(self, count, step):
        return [self.refs[(step + k) % len(self.refs)] for k in range(count)]

    def weights(self):
        return np.full(3, 1 / 3)


class Measuring(Drawn):
    """The same, by the policy's own answers."""

    @property
    def measured(self):
        return Measurements()


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
    shown = task.rows.samples([ref for ref in lift for _ in range(3)])
    states = left["states/lift"].numpy()
    assert (states != shown.states).any(1).all()
    spread = (states - shown.states).std(0) / shown.states.std(0)
    assert ((spread > 0.08) & (spread < 0.4)).all()
    said = answers(task.policy, replace(shown, states=states))
    assert np.array_equal(left["actions/lift"].numpy(), said)


def test_frames_give_way_to_frames_beside_them(begun):
    rule, task, left, kept = begun
    sampler = rule.for_task(Drawn(kept), left, task)
    pairs = zip(Drawn(kept).next(600, 0), sampler.next(600, 0), strict=True)
    replaced = [(old, new) for old, new in pairs if old != new]
    assert 0.25 < len(replaced) / 600 < 0.35
    assert {new.task for _, new in replaced} == {IMAGINED}
    assert {(new.frame // 3, kept.index(old)) for old, new in replaced} == {
        (k, k) for k in range(10)
    }
    assert len({new for _, new in replaced}) == 3 * len(kept)
    before, after = (task.rows.samples(refs) for refs in zip(*replaced, strict=True))
    assert before.instructions == after.instructions
    assert np.array_equal(before.valid, after.valid)
    assert (before.states != after.states).any(1).all()
    assert np.allclose(answers(task.policy, after), after.actions, atol=1e-6)
    assert sampler.weights().tolist() == Drawn(kept).weights().tolist()


def test_recorded_and_imagined_frames_mix_in_any_order(begun):
    rule, task, left, kept = begun
    rule.for_task(Drawn(kept), left, task)
    refs = [FrameRef(IMAGINED, 0, 19), kept[7], FrameRef(BESIDE + "lift", 0, 0), kept[0]]
    samples = task.rows.samples(refs)
    for row, ref in enumerate(refs):
        alone = task.rows.samples([ref])
        assert np.array_equal(alone.states[0], samples.states[row])
        assert np.array_equal(alone.actions[0], samples.actions[row])
        assert alone.instructions[0] == samples.instructions[row]
    # Fifteen frames beside lift come first.
    assert np.array_equal(
        samples.states[0], task.rows.samples([FrameRef(BESIDE + "pour", 0, 4)]).states[0]
    )


def test_the_same_step_gives_the_same_frames_and_a_share_of_zero_none(begun):
    rule, task, left, kept = begun
    sampler = rule.for_task(Drawn(kept), left, task)
    assert sampler.next(32, 7) == sampler.next(32, 7)
    assert sampler.next(32, 7) != sampler.next(32, 8)
    none = replace(rule, share=0.0)
    assert none.for_task(Drawn(kept), left, task).next(32, 7) == Drawn(kept).next(32, 7)


def test_nothing_is_imagined_before_a_task_is_finished(begun):
    rule, task, _, kept = begun
    drawn = Drawn(kept)
    assert rule.for_task(drawn, {}, task) is drawn
    assert rule.after_task({}, replace(finished(task.policy, task.rows, "lift"), kept=[])) == {}


def test_a_draw_that_measures_and_shares_above_one_are_refused(begun):
    rule, task, left, kept = begun
    with pytest.raises(BadInput, match="a draw that measures"):
        rule.for_task(Measuring(kept), left, task)
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
        name: replace(one, images={"map": rng.random((one.num_frames, 2, 6, 8)).astype(np.float16)})
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
        rule.for_task(Drawn(done.kept), left, task_begins(rows, policy))
    refs = [FrameRef(BESIDE + "lift", 0, k) for k in range(15)]
    still = frames.samples(done.kept).images
    beside = frames.samples(refs).images["map"]
    assert (beside != np.repeat(still["map"], 3, axis=0)).any((1, 2, 3)).all()
    assert np.array_equal(beside, shifted(still, left["moves/lift"])["map"])
    assert np.array_equal(beside, again.samples(refs).images["map"])
    assert left["moves/lift"].abs().max() <= rule.image_shift


def test_a_move_shifts_an_image_repeats_its_edge_and_leaves_vectors_alone():
    image, vector = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4), np.ones((1, 5))
    moves = torch.tensor([[0.0, 0.25], [1 / 3, -0.125], [0.0, 0.0]])
    new = shifted({"image": image, "vector": vector}, moves)
    assert np.array_equal(new["vector"], np.repeat(vector, 3, axis=0))
    assert new["image"][0, 0].tolist() == [[1, 2, 3, 3], [5, 6, 7, 7], [9, 10, 11, 11]]
    assert np.allclose(
        new["image"][1, 0],
        np.array([[4, 4.5, 5.5, 6.5], [8, 8.5, 9.5, 10.5], [8, 8.5, 9.5, 10.5]]),
        atol=1e-5,
    )
    assert np.array_equal(new["image"][2], image[0])
    pixels = np.repeat(image[:, 0, :, :, None], 3, axis=3).astype(np.uint8)
    colours = shifted({"pixels": pixels}, moves)["pixels"]
    assert np.array_equal(colours[0, :, :, 1], new["image"][0, 0].astype(np.uint8))
    assert (colours.dtype, colours.shape) == (np.uint8, (3, 3, 4, 3))


def test_joined_frames_are_held_once():
    frames = table("lift", "pour")
    for name in ("lift", "pour"):
        frames.imagine("like " + name, frames.samples(frames.tasks[name].refs(name)[:3]))
    frames.imagine("of an earlier task", frames.samples(frames.tasks["lift"].refs("lift")[:1]))
    frames.join("both", ["like pour", "like lift"])
    both = frames.invented["both"]
    assert both.num_frames == 6
    assert "of an earlier task" not in frames
    assert np.shares_memory(both.states, frames.invented["like lift"].states)
    new = frames.samples([FrameRef("both", 0, 4)])
    old = frames.samples(frames.tasks["lift"].refs("lift")[1:2])
    assert np.array_equal(new.states, old.states)
    with pytest.raises(BadInput, match="not among"):
        frames.samples([FrameRef("both", 0, 6)])


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
    learn = TaskStream(
        learner=learner, method=METHODS[name], budget=Budget.per_task(4), streams=STREAMS
    )
    stream = learn(tasks)
    everything = batch_of(frames, frames.tasks["lift"].refs("lift"))
    next(stream)
    before = policy.outputs(everything).detach()
    next(stream)
    return float((policy.outputs(everything).detach() - before).abs().mean())


def test_a_policy_drifts_less_between_its_kept_frames():
    assert final_drift("er-imagined") < 0.8 * final_drift("er-even")
