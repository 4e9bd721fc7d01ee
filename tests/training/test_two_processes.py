"""Two real processes train as one: one global draw, disjoint slices, equal weights on both."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from module_policy import ModulePolicy
from safetensors.torch import load_file, save_file
from torch import nn

from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.methods.table import METHODS
from phaser.testing.made_up import made_up_task
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable, TaskFrames
from phaser.training.learner import PolicyLearner
from phaser.training.stream import TaskStream

ROOT = Path(__file__).parents[2]
IMPORTABLE = [str(ROOT / "src"), str(ROOT / "tests" / "core")]
NAMES, SEED, NUM_PROCESSES = ("lift", "push", "pour"), 5, 2
FIT = Fit(steps_per_task=6, batch_size=8)
ASKING = ["mir", "mir-snapshot", "mir-original", "loss-aware", "phaser-adaptive"]
METHOD_NAMES = ["phaser", "icarl", "der", "agem", "ewc", *ASKING]


class Linear(ModulePolicy):
    """The next action, linear in the state; nothing in it depends on the size of a batch."""

    offers = frozenset({"features", "outputs"})

    def __init__(self):
        super().__init__()
        torch.manual_seed(SEED)
        self.out = nn.Linear(4, 4)

    def forward(self, batch, noise):
        return (self.features(batch) - batch.actions[:, 0]).square().mean(1)

    def features(self, batch):
        return self.out(batch.states)

    def outputs(self, batch):
        return self.features(batch)[:, None].expand_as(batch.actions)


class Recorder(FrameTable):
    """Writes down which frames this process gathered, step by step."""

    __slots__ = ("asked",)

    def __init__(self, tasks):
        super().__init__(tasks)
        object.__setattr__(self, "asked", [])

    def samples(self, refs):
        self.asked.append([[ref.task, ref.demo, ref.frame] for ref in refs])
        return super().samples(refs)


def train(accelerator, method="phaser"):
    """Three tasks with one method: the frames gathered per step, the weights, all passes made."""
    tasks = [made_up_task(name) for name in NAMES]
    table = Recorder(
        {
            task.task.name: TaskFrames.of(task.demos, {}, instruction="0", chunk_length=2)
            for task in tasks
        }
    )
    policy, streams, passes = Linear(), Streams(SEED), []
    policy.register_forward_hook(lambda *_: passes.append(1))
    learner = PolicyLearner(
        policy=policy, frames=table, fit=FIT, streams=streams, accelerator=accelerator
    )
    stream = TaskStream(learner=learner, method=METHODS[method], budget=Budget(), streams=streams)
    list(stream(tasks))
    return table.asked, policy.state_dict(), len(passes)


def one_of_two(folder):
    """What each of the two processes runs."""
    accelerator = Accelerator(cpu=True)
    place = folder / str(accelerator.process_index)
    place.mkdir()
    asked, passes = {}, {}
    for method in METHOD_NAMES:
        asked[method], weights, passes[method] = train(accelerator, method)
        save_file(weights, place / f"{method}.safetensors")
    world = [accelerator.num_processes, torch.distributed.get_backend()]
    said = {"asked": asked["phaser"], "world": world, "passes": passes}
    (place / "said.json").write_text(json.dumps(said))
    accelerator.end_training()


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Both processes' records, after both ended well."""
    folder = tmp_path_factory.mktemp("two-processes")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(IMPORTABLE),
        "WORLD_SIZE": str(NUM_PROCESSES),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
    }
    running = [
        subprocess.Popen(
            [sys.executable, __file__, str(folder)],
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(NUM_PROCESSES)
    ]
    try:
        for one in running:
            _, complaint = one.communicate(timeout=300)
            assert one.returncode == 0, complaint
    finally:
        for one in running:
            one.kill()
            one.wait()
            one.stderr.close()
    return [
        json.loads((folder / str(rank) / "said.json").read_text())
        | {name: load_file(folder / str(rank) / f"{name}.safetensors") for name in METHOD_NAMES}
        for rank in range(NUM_PROCESSES)
    ]


@pytest.fixture(scope="module")
def alone():
    runs = {method: train(Accelerator(cpu=True), method) for method in METHOD_NAMES}
    weights = {method: found for method, (_, found, _) in runs.items()}
    passes = {method: count for method, (*_, count) in runs.items()}
    return {"asked": runs["phaser"][0], "passes": passes, **weights}


def test_the_two_processes_form_one_world(ranks):
    assert [rank["world"] for rank in ranks] == [[NUM_PROCESSES, "gloo"]] * NUM_PROCESSES


def test_the_slices_are_disjoint_places_of_one_global_draw(ranks, alone):
    steps = FIT.steps_per_task * len(NAMES)
    assert len(alone["asked"]) == steps
    for step in range(steps):
        slices = [rank["asked"][step] for rank in ranks]
        assert [len(part) for part in slices] == [FIT.batch_size // NUM_PROCESSES] * NUM_PROCESSES
        interleaved = [ref for pair in zip(*slices, strict=True) for ref in pair]
        assert interleaved == alone["asked"][step]


def test_both_processes_rehearse_and_not_the_same_frames(ranks):
    rehearsed = [
        [[ref for ref in step if ref[0] != "pour"] for step in rank["asked"][-FIT.steps_per_task :]]
        for rank in ranks
    ]
    assert all(step for rank in rehearsed for step in rank)
    assert rehearsed[0] != rehearsed[1]


@pytest.mark.parametrize("of", METHOD_NAMES)
def test_the_weights_are_equal_on_both_and_close_to_one_process(ranks, alone, of):
    first, second = (rank[of] for rank in ranks)
    for name, value in alone[of].items():
        assert torch.equal(first[name], second[name])
        torch.testing.assert_close(first[name], value, rtol=1e-4, atol=1e-5)
    fresh = Linear().state_dict()
    assert not torch.allclose(fresh["out.weight"], first["out.weight"], atol=1e-3)


def test_all_processes_make_as_many_passes_as_one_alone(ranks, alone):
    """A process that made one more, or one less, would wait for the other for ever."""
    assert ranks[0]["passes"] == ranks[1]["passes"] == alone["passes"]
    training = FIT.steps_per_task * len(NAMES)
    assert alone["passes"]["phaser"] == training
    assert all(alone["passes"][method] > training for method in ASKING)


if __name__ == "__main__":
    one_of_two(Path(sys.argv[1]))
