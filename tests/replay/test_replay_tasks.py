"""A task that ends well is kept, one that fails is not; draws can be repeated and resumed."""

import json
from pathlib import Path
from typing import Any

import pytest
from made_samples import learn, numpy_dataset, replay_in
from torch.utils.data import DataLoader

from phaser.core.errors import BadInput
from phaser.memory.store import Store
from phaser.testing.toy import ToyDemos


def identity(sample: dict[str, Any]) -> tuple[int, int]:
    return sample["episode_index"], sample["frame_index"]


def plain_batch(size: int) -> list[dict[str, Any]]:
    return numpy_dataset()[:size]


def test_a_first_task_leaves_batches_as_they_are(tmp_path: Path) -> None:
    batch = plain_batch(4)
    with replay_in(tmp_path).task(numpy_dataset(), instruction="lift the cup") as task:
        assert task.mix(batch) is batch
        assert task.sample(3) == []
        assert task.num_stored == 0


def test_the_last_half_of_a_batch_makes_way(tmp_path: Path) -> None:
    replay = replay_in(tmp_path)
    learn(replay, "lift the cup")
    kept = set(Store.open(tmp_path / "memory").memory.buckets[0].frames)
    kept |= set(Store.open(tmp_path / "memory").memory.buckets[-1].frames)
    with replay.task(numpy_dataset(), instruction="drop the cup") as task:
        batch = plain_batch(6)
        mixed = task.mix(batch)
        assert mixed[:3] == batch[:3]
        assert len(mixed) == 6
        assert {identity(one) for one in mixed[3:]} <= {(one.demo, one.frame) for one in kept}


def test_a_collated_batch_keeps_its_size_and_types(tmp_path: Path) -> None:
    replay = replay_in(tmp_path)
    learn(replay, "go left", dataset=ToyDemos("left"))
    demos = ToyDemos("right")
    with replay.task(demos, instruction="go right") as task:
        for batch in DataLoader(demos, batch_size=10):
            mixed = task.mix(batch)
            count = min(round(len(batch["task"]) / 2), len(batch["task"]) - 1)
            assert (
                mixed["task"]
                == [demos.instruction] * (len(batch["task"]) - count)
                + ["carry the cup to the left"] * count
            )
            for name in batch.keys() - {"task"}:
                assert mixed[name].shape == batch[name].shape
                assert mixed[name].dtype == batch[name].dtype


def test_the_demonstrations_may_be_gone_when_they_are_rehearsed(tmp_path: Path) -> None:
    first, replay = numpy_dataset(), replay_in(tmp_path)
    learn(replay, "lift the cup", dataset=first)
    first.clear()
    with replay.task(numpy_dataset(), instruction="drop the cup") as task:
        assert len(task.sample(20)) == 20


def test_an_error_keeps_nothing_and_comes_through(tmp_path: Path) -> None:
    replay = replay_in(tmp_path)
    learn(replay, "lift the cup")
    before = (tmp_path / "memory" / "manifest.json").read_bytes()
    with (
        pytest.raises(KeyboardInterrupt),
        replay.task(numpy_dataset(), instruction="drop the cup"),
    ):
        raise KeyboardInterrupt
    assert (tmp_path / "memory" / "manifest.json").read_bytes() == before
    learn(replay, "drop the cup")
    assert replay.stored == ("lift-the-cup", "drop-the-cup")


def test_a_task_that_was_cut_off_can_be_begun_again(tmp_path: Path) -> None:
    replay_in(tmp_path).task(numpy_dataset(), instruction="lift the cup").mix(plain_batch(4))
    assert replay_in(tmp_path).stored == ()
    learn(replay_in(tmp_path), "lift the cup")
    assert replay_in(tmp_path).stored == ("lift-the-cup",)


def test_a_second_task_of_a_name_is_refused_before_it_is_learnt(tmp_path: Path) -> None:
    replay = replay_in(tmp_path)
    learn(replay, "lift the cup")
    with pytest.raises(BadInput, match=r"already in .*give another name=.*phaser memory forget"):
        replay.task(numpy_dataset(), instruction="Lift the cup!")
    with replay.task(numpy_dataset(), instruction="lift the cup", name="lift-again"):
        pass
    assert replay.stored == ("lift-the-cup", "lift-again")


def test_a_finished_task_draws_no_more_and_is_kept_once(tmp_path: Path) -> None:
    replay = replay_in(tmp_path)
    task = replay.task(numpy_dataset(), instruction="lift the cup")
    task.finish()
    task.finish()
    assert replay.stored == ("lift-the-cup",)
    with pytest.raises(BadInput, match="'lift-the-cup' is finished"):
        task.mix(plain_batch(4))


def draws(task: Any, steps: int) -> list[list[tuple[int, int]]]:
    return [[identity(one) for one in task.sample(5)] for _ in range(steps)]


def test_the_draws_of_a_step_depend_on_seed_task_and_step_alone(tmp_path: Path) -> None:
    learn(replay_in(tmp_path), "lift the cup")

    def begin(seed: int = 0, instruction: str = "drop the cup", **options: Any) -> Any:
        replay = replay_in(tmp_path, seed=seed)
        return replay.task(numpy_dataset(), instruction=instruction, **options)

    undisturbed = draws(begin(), 6)
    assert draws(begin(), 6) == undisturbed
    assert draws(begin(start_step=4), 2) == undisturbed[4:]
    assert draws(begin(seed=1), 6) != undisturbed
    assert draws(begin(instruction="turn the cup"), 6) != undisturbed


def test_a_task_goes_on_from_its_state(tmp_path: Path) -> None:
    learn(replay_in(tmp_path), "lift the cup")
    task = replay_in(tmp_path).task(numpy_dataset(), instruction="drop the cup")
    undisturbed = draws(task, 3)
    state = json.loads(json.dumps(task.state_dict()))
    undisturbed += draws(task, 3)
    resumed = replay_in(tmp_path).task(numpy_dataset(), instruction="drop the cup")
    resumed.load_state_dict(state)
    assert resumed.step == 3
    assert draws(resumed, 3) == undisturbed[3:]
    other = replay_in(tmp_path, seed=3).task(numpy_dataset(), instruction="drop the cup")
    with pytest.raises(BadInput, match="the state is of seed 0, this is 3"):
        other.load_state_dict(state)


def test_processes_draw_disjoint_slices_of_one_draw(tmp_path: Path) -> None:
    learn(replay_in(tmp_path), "lift the cup")

    def of(rank: int, world_size: int, count: int) -> list[dict[str, Any]]:
        replay = replay_in(tmp_path, rank=rank, world_size=world_size)
        return replay.task(numpy_dataset(), instruction="drop the cup").sample(count)

    whole = [identity(one) for one in of(0, 1, 6)]
    parts = [[identity(one) for one in of(rank, 3, 2)] for rank in range(3)]
    assert [parts[at % 3][at // 3] for at in range(6)] == whole


def test_only_the_first_process_writes(tmp_path: Path) -> None:
    learn(replay_in(tmp_path), "lift the cup")
    learn(replay_in(tmp_path, rank=1, world_size=2), "drop the cup")
    assert replay_in(tmp_path).stored == ("lift-the-cup",)
    learn(replay_in(tmp_path, rank=0, world_size=2), "drop the cup")
    assert replay_in(tmp_path).stored == ("lift-the-cup", "drop-the-cup")


def test_a_loader_of_single_samples_is_refused_but_a_last_one_passes(tmp_path: Path) -> None:
    replay = replay_in(tmp_path)
    learn(replay, "lift the cup")
    task = replay.task(numpy_dataset(), instruction="drop the cup")
    with pytest.raises(BadInput, match="a batch of 1 has no room"):
        task.mix(plain_batch(1))
    task.mix(plain_batch(2))
    last = plain_batch(1)
    assert task.mix(last) is last


def test_the_collate_function_of_the_user_makes_the_batch(tmp_path: Path) -> None:
    def joined(samples: list[dict[str, Any]]) -> dict[str, Any]:
        return {"frames": [identity(one) for one in samples]}

    replay = replay_in(tmp_path, collate=joined)
    learn(replay, "lift the cup")
    with replay.task(numpy_dataset(), instruction="drop the cup") as task:
        assert task.mix(joined(plain_batch(4)))["frames"][:2] == [(0, 0), (0, 1)]
        assert len(task.sample(3)["frames"]) == 3


def test_a_batch_that_was_changed_before_it_is_mixed_is_refused(tmp_path: Path) -> None:
    replay = replay_in(tmp_path)
    learn(replay, "go left", dataset=ToyDemos("left"))
    demos = ToyDemos("right")
    batch = next(iter(DataLoader(demos, batch_size=4)))
    with (
        pytest.raises(BadInput, match=r"differ in \['tokens'\]; mix the batch as the loader"),
        replay.task(demos, instruction="go right") as task,
    ):
        task.mix({**batch, "tokens": batch["action"]})
    assert len(replay.stored) == 1
