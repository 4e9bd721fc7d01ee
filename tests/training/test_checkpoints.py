"""The middle of a task on disk: taken up anywhere, training ends with the same bits."""

from dataclasses import replace

import pytest
import torch
from accelerate import Accelerator
from module_policy import ModulePolicy
from safetensors.torch import save
from torch import nn

from phaser.core.errors import BrokenFile
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.memory.reservoir import Reservoir
from phaser.routing.uniform import Uniform
from phaser.testing.draw import MadeUpProbe
from phaser.testing.made_up import made_up_task
from phaser.training.checkpoint import Steps, read_state, write_state
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable, TaskFrames
from phaser.training.learner import PolicyLearner

FIT = Fit(steps_per_task=9, batch_size=8, checkpoint_every_steps=4)
TASKS = {name: made_up_task(name) for name in ("lift", "pour")}


class Linear(ModulePolicy):
    """The smallest policy: the next action, linear in the state."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.out = nn.Linear(4, 4)

    def forward(self, batch, noise):
        return (self.out(batch.states) - batch.actions[:, 0]).abs().mean(1)


class Shelf:
    """Keeps states in a folder; a learner that finds one there goes on from it."""

    def __init__(self, folder, last=None):
        self.folder, self.last, self.saved_at = folder, last, []

    def restore(self, policy, optimizer):
        return read_state(*self.last, policy, optimizer) if self.last else Steps()

    def save(self, policy, optimizer, steps):
        path = self.folder / f"{len(steps)}.safetensors"
        self.last = (path, write_state(path, policy, optimizer, steps))
        self.saved_at.append((len(steps), self.last))


def table():
    return FrameTable(
        {
            name: TaskFrames.of(task.demos, {}, instruction="0", chunk_length=2)
            for name, task in TASKS.items()
        }
    )


def what_is_drawn():
    """Current frames and a sampler over the first task's, as a stream would make them."""
    kept = Reservoir().select(TASKS["lift"], 20, Streams(0).named("keep", "lift"))
    stream = Streams(0).named("draw", "pour")
    memory = Memory().with_buckets(kept)
    sampler = Uniform().for_task(memory, TASKS["pour"], stream, MadeUpProbe())
    return table().tasks["pour"].refs("pour"), sampler


def fitted(shelf, *, seed=0, fit=FIT):
    _, sampler = what_is_drawn()
    learner = PolicyLearner(
        policy=Linear(seed),
        frames=table(),
        fit=fit,
        streams=Streams(0),
        accelerator=Accelerator(cpu=True),
        checkpointer=shelf,
    )
    learnt = learner.learn(TASKS["pour"], sampler)
    moments = {name: tensor.clone() for name, tensor in learnt.moments.items()}
    return learnt.loss, save(learner.policy.state_dict()), save(moments)


RECIPES = [
    FIT,
    replace(FIT, warm_up=0.5),
    replace(FIT, average_last=0.75),
    replace(FIT, keep_moments=True),
    replace(FIT, gradient_clip=0.1),
]


@pytest.mark.parametrize("fit", RECIPES)
def test_a_learner_taken_up_at_any_checkpoint_ends_with_the_same_bits(tmp_path, fit):
    shelf = Shelf(tmp_path)
    expected = fitted(shelf, fit=fit)
    assert [at for at, _ in shelf.saved_at] == [4, 8, 9]
    for _, last in list(shelf.saved_at):
        # Other weights to begin with: all of them must come from the checkpoint.
        assert fitted(Shelf(tmp_path / "again", last), seed=1, fit=fit) == expected


def test_every_recipe_trains_otherwise(tmp_path):
    ends = [fitted(Shelf(tmp_path / str(at)), fit=fit)[1:] for at, fit in enumerate(RECIPES)]
    assert len(set(ends)) == len(RECIPES)


def test_a_checkpoint_records_the_batches_that_the_steps_were_trained_on(tmp_path):
    shelf = Shelf(tmp_path)
    fitted(shelf)
    current, sampler = what_is_drawn()
    stream = Streams(0).named("current", "pour")
    steps = shelf.restore(Linear(0), torch.optim.AdamW(Linear(0).parameters()))
    assert len(steps) == 9
    assert steps.samples == [FIT.refs_of_step(step, current, sampler, stream) for step in range(9)]
    assert all(loss > 0 for loss in steps.losses)
    assert Steps.from_table(steps.table("pour")).samples == steps.samples


def test_a_checkpoint_with_another_hash_is_refused(tmp_path):
    shelf = Shelf(tmp_path)
    fitted(shelf)
    path, _ = shelf.last
    with pytest.raises(BrokenFile, match=rf"{path.name} has SHA-256 .* expected 000000000000"):
        fitted(Shelf(tmp_path, (path, "0" * 64)))
