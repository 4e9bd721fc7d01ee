"""Every method of the table can be cut off after any step: it ends with the same bits.

Streams of three tasks around a small policy, with a run's own checkpoints on disk; whole cells are
cut off in tests/experiments, killed processes in tests/faults.
"""

import json
from dataclasses import replace

import pytest
import torch
from accelerate import Accelerator
from small_policy import Small, table

from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.experiments import resume
from phaser.experiments.position import Position
from phaser.experiments.resume import Checkpoints
from phaser.memory.budget import Budget
from phaser.methods.imagined import Imagined
from phaser.methods.table import METHODS
from phaser.routing.adaptive import Adaptive
from phaser.routing.max_interference import MaxInterference
from phaser.testing.made_up import made_up_task
from phaser.training.checkpoint import write_tensors
from phaser.training.fit import Fit
from phaser.training.learner import PolicyLearner
from phaser.training.probe import PolicyProbe
from phaser.training.stream import MethodState, TaskStream

NAMES = ("lift", "push", "pour")
TASKS = [made_up_task(name) for name in NAMES]
BUDGET = Budget.per_task(12)
STREAMS, ALONE = Streams(3), Accelerator(cpu=True)
FIT = Fit(steps_per_task=5, batch_size=8, checkpoint_every_steps=1)
MEASURING = {"mir", "mir-snapshot", "mir-original", "phaser-adaptive"}
LEAVING = {"icarl", "der", "ewc", "er-imagined", "phase-imagined", "phaser-imagined"}


class Noisy(Small):
    """Its loss depends on the noise of the step, as that of a stochastic head does."""

    def forward(self, batch, noise):
        generator = torch.Generator().manual_seed(noise.integer())
        return super().forward(batch, noise) * (
            0.5 + torch.rand(len(batch.states), generator=generator)
        )


class Interrupted(BaseException):
    """A process that ends here."""


def often(method):
    """The method, asking the policy so often that five steps hold several answers, and of all
    earlier tasks where it asks in their scenes."""
    if isinstance(method.draw, MaxInterference):
        return replace(method, draw=replace(method.draw, refreshes_per_task=3, num_cached=4))
    if isinstance(method.draw, Adaptive):
        return replace(method, draw=replace(method.draw, measure_every=2))
    if isinstance(method.rehearse, Imagined):
        return replace(method, rehearse=replace(method.rehearse, same_scene=-1.0))
    return method


def process(method, folder):
    """Learn all tasks from where the folder was left; whatever was in memory is gone."""
    checkpoints = Checkpoints(folder)
    checkpoints.remove_unneeded()
    policy = Noisy(seed=0)
    learner = PolicyLearner(
        policy=policy,
        frames=table(*NAMES),
        fit=FIT,
        streams=STREAMS,
        accelerator=ALONE,
        checkpointer=checkpoints,
    )
    if method.joint:
        stream, probe = STREAMS.named("draw"), PolicyProbe(learner=learner, task=NAMES[0])
        sampler = method.draw.for_task(Memory(), TASKS[0], stream, probe)
        learner.learn_jointly(TASKS, sampler)
        return note(folder / "all", checkpoints, policy, sampler, MethodState())
    done, memory = checkpoints.position.task_index, Memory()
    for task in TASKS[:done]:
        stream = STREAMS.named("keep", task.task.name)
        memory = BUDGET.keep(method.keep, task, memory, stream=stream).memory
    if done:
        checkpoints.load_start(weights_file(folder / NAMES[done - 1]), policy)
    learn = TaskStream(learner=learner, method=method, budget=BUDGET, streams=STREAMS)
    stream = learn(TASKS[done:], memory=memory, state=checkpoints.method_state())
    for name, finished in zip(NAMES[done:], stream, strict=True):
        note(folder / name, checkpoints, policy, finished.sampler, finished.state)
    return None


def note(place, checkpoints, policy, sampler, state):
    """Write what a task came to, and commit it."""
    steps = checkpoints.steps
    asked = 0 if sampler.measured is None else len(sampler.measured)
    drawn_by = sampler.weights().tolist()
    place.with_suffix(".json").write_text(
        json.dumps([steps.losses, steps.samples, drawn_by, asked])
    )
    write_tensors(weights_file(place), policy.trained_state())
    checkpoints.write_state(weights_file(place), state)
    checkpoints.finish_task(weights_file(place), {})


def weights_file(place):
    return place.with_suffix(".safetensors")


def process_that_is_cut_off(method, folder, monkeypatch):
    """Ends with its first commit, that is after one step, or between two tasks."""
    write = Position.write

    def cut(position, path):
        write(position, path)
        raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(resume.Position, "write", cut)
        with pytest.raises(Interrupted):
            process(method, folder)


def bits(folder):
    """Every file of the folder; position.json holds a clock."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in paths
        if path.name != "position.json"
    }


@pytest.mark.parametrize("name", METHODS)
def test_a_method_cut_off_after_every_step_ends_with_the_same_bits(name, tmp_path, monkeypatch):
    method, whole, cut = often(METHODS[name]), tmp_path / "whole", tmp_path / "cut"
    process(method, whole)
    stages = ["all"] if method.joint else [*NAMES]
    for _ in range(FIT.steps_per_task * len(NAMES) + len(stages)):
        process_that_is_cut_off(method, cut, monkeypatch)
    assert Position.read(cut / "position.json").task_index == len(stages)
    # What the last commit no longer needs goes when the next process starts.
    Checkpoints(cut).remove_unneeded()
    assert bits(cut) == bits(whole)
    left = [path.name for path in whole.glob("penalty/*")]
    assert left == (["pour.safetensors"] if name in LEAVING else [])
    asked = [json.loads((whole / f"{stage}.json").read_text())[3] for stage in stages]
    assert asked[0] == 0
    assert (min(asked[1:], default=0) >= 2) == (name in MEASURING)
