"""Whatever could not be stored at the end is refused before training, in one line."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made_samples import LAYOUT, learn, numpy_dataset, replay_in, vision

from phaser import Columns
from phaser.core.errors import BadInput, NotKept
from phaser.memory.store import Store
from phaser.replay.recording import read_recording

LATER = 5
"""Frames before this one are as they should be; with everything kept, later ones are kept too."""


def spoilt(change: Any) -> Any:
    dataset = numpy_dataset()
    for sample in dataset:
        sample["state"] = torch.zeros(3)
    for place in range(LATER, len(dataset)):
        dataset[place] = change(dict(dataset[place]))
    return dataset


LATER_SAMPLES = {
    "a set": (lambda one: {**one, "state": {1, 2}}, "state is a builtins.set"),
    "None for a tensor": (lambda one: {**one, "state": None}, "'state': plain numbers, text or"),
    "another type": (lambda one: {**one, "state": torch.zeros(3).double()}, "tensor of float64"),
    "an array": (lambda one: {**one, "state": np.zeros(3, np.float32)}, "an array of float32"),
    "a key less": (lambda one: {k: v for k, v in one.items() if k != "state"}, "'state': nothing"),
    "a key more": (lambda one: {**one, "extra": 1}, "'extra': plain numbers"),
    "a sparse tensor": (lambda one: {**one, "state": torch.zeros(3).to_sparse()}, "is sparse"),
    "a key that is no text": (lambda one: {**one, 5: 1}, "has the key 5"),
}


@pytest.mark.parametrize("what", LATER_SAMPLES)
def test_a_later_sample_of_another_form_is_refused(tmp_path: Path, what: str) -> None:
    change, message = LATER_SAMPLES[what]
    with pytest.raises(BadInput, match=message) as caught:
        replay_in(tmp_path).task(spoilt(change), instruction="lift the cup")
    assert "\n" not in str(caught.value)
    assert replay_in(tmp_path).stored == ()


def test_the_same_keys_in_another_order_are_no_difference(tmp_path: Path) -> None:
    def turned(sample: dict[str, Any]) -> dict[str, Any]:
        nested = {"nested": {"b": 1, "a": (2, {"d": 3, "c": 4})}}
        return dict(reversed([*sample.items(), *nested.items()]))

    dataset = numpy_dataset()
    for place, sample in enumerate(dataset):
        sample["nested"] = {"a": (2, {"c": 4, "d": 3}), "b": 1}
        dataset[place] = sample if place < LATER else turned(sample)
    learn(replay_in(tmp_path), "lift the cup", dataset=dataset)
    store = Store.open(tmp_path / "memory")
    refs = [ref for bucket in store.memory.buckets for ref in bucket.frames]
    by_frame = {(one["episode_index"], one["frame_index"]): one for one in dataset}
    for ref, stored in zip(refs, store.read(refs), strict=True):
        given = by_frame[ref.demo, ref.frame]
        assert stored.keys() == given.keys()
        assert stored["nested"] == given["nested"]


@pytest.mark.parametrize("first", [20240517123000, -3, -(2**63), 2**63 - 3])
def test_episode_numbers_may_be_any_integers_of_64_bits(tmp_path: Path, first: int) -> None:
    def numbered() -> Any:
        dataset = numpy_dataset()
        for sample in dataset:
            sample["episode_index"] += first
        return dataset

    learn(replay_in(tmp_path), "lift the cup", dataset=numbered())
    store = Store.open(tmp_path / "memory")
    assert {ref.demo for bucket in store.memory.buckets for ref in bucket.frames} <= {
        first,
        first + 1,
        first + 2,
    }
    with replay_in(tmp_path).task(numbered(), instruction="drop the cup") as task:
        assert all(one["episode_index"] >= first for one in task.sample(6))


@pytest.mark.parametrize(
    ("episodes", "shown"),
    [
        (np.array([2**63], np.uint64), "9223372036854775808"),
        (np.array([2**70], object), str(2**70)),
        (np.array([0.5]), "0.5"),
        (np.array([np.nan]), "nan"),
        (np.array(["first"]), "first"),
        (np.array([True]), "True"),
    ],
)
def test_episode_numbers_that_are_none_are_named(episodes: np.ndarray, shown: str) -> None:
    class Told:
        layout = LAYOUT

        def __len__(self) -> int:
            return 1

        def __getitem__(self, row: int) -> Any:
            raise AssertionError("columns are enough")

        def column(self, name: str) -> np.ndarray:
            return {"episode_index": episodes, "frame_index": np.zeros(1, int)}.get(
                name, np.zeros((1, 4))
            )

    with pytest.raises(BadInput, match=f"the episode number {shown} .*at most 64 bits"):
        read_recording(Told(), task="lift", columns=Columns(), layout=None)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"name": 5}, "name=5 is of type int; expected text"),
        ({"name": b"lift"}, "name=b'lift' is of type bytes; expected text"),
        ({"instruction": 7}, "instruction=7 is of type int; expected text"),
        ({"name": "n" * 1001}, "a task's name has 1,001 characters; expected at most 1,000"),
        ({"instruction": "go " * 40_000}, "instruction of a task has 120,000 characters"),
    ],
)
def test_names_and_instructions_that_no_reader_accepts_are_refused(
    tmp_path: Path, names: dict[str, Any], message: str
) -> None:
    learn(replay_in(tmp_path), "lift the cup")
    with pytest.raises(BadInput, match=message):
        replay_in(tmp_path).task(numpy_dataset(), **({"instruction": "drop the cup"} | names))
    assert replay_in(tmp_path).stored == ("lift-the-cup",)


def test_a_long_instruction_gets_a_name_that_fits(tmp_path: Path) -> None:
    learn(replay_in(tmp_path), "very " * 5_000 + "slowly")
    (stored,) = Store.open(tmp_path / "memory").tasks
    assert len(stored.name) <= 1_000
    assert len(stored.instruction) > 20_000


@pytest.mark.parametrize("budget", [float("nan"), 2.5, "60", -1, True, 2**63])
def test_budgets_that_are_no_whole_number_are_refused(tmp_path: Path, budget: Any) -> None:
    with pytest.raises(BadInput, match=r"a budget with amount .*; expected a whole number"):
        replay_in(tmp_path, budget=budget)


@pytest.mark.parametrize("seed", [None, 1.5, "a", -1, True, float("nan"), 2**63])
def test_seeds_that_are_no_whole_number_are_refused(tmp_path: Path, seed: Any) -> None:
    with pytest.raises(BadInput, match=r"^seed .*; expected a whole number from 0 to 2\*\*63 - 1$"):
        replay_in(tmp_path, seed=seed)


def test_numpys_integers_are_numbers_like_any_other(tmp_path: Path) -> None:
    ours, theirs = (
        replay_in(tmp_path / name, seed=whole(3), budget=whole(8))
        for name, whole in (("python", int), ("numpy", np.int64))
    )
    assert (ours.seed, ours.budget_rule) == (theirs.seed, theirs.budget_rule)
    assert type(theirs.seed) is int
    assert type(theirs.budget_rule.amount) is int
    learn(theirs, "lift the cup")
    assert theirs.task(numpy_dataset(), instruction="drop it").state_dict()["seed"] == 3


class GrowingVision:
    """An encoder that answers with one number more each time."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, images: np.ndarray) -> np.ndarray:
        self.asked += 1
        return np.zeros((len(images), self.asked))


@pytest.mark.parametrize(
    ("encoders", "message"),
    [
        ({"vision": lambda images: np.full((len(images), 3), np.nan)}, r"vision\(\) gave NaN"),
        ({"language": lambda text: np.array([1.0, np.inf])}, r"language\(\) gave NaN or inf"),
        ({"language": lambda text: "words"}, r"language\(\) gave .*expected finite numbers"),
        ({"vision": GrowingVision()}, r"vectors of the lengths \[1, 2.* expected one length"),
        ({"language": lambda text: np.ones(7)}, "described by 32 language numbers, this one by 7"),
        ({"vision": lambda images: vision(images)[:, :2]}, "by 3 vision numbers, this one by 2"),
    ],
)
def test_an_encoder_that_answers_wrongly_stores_nothing(
    tmp_path: Path, encoders: dict[str, Any], message: str
) -> None:
    learn(replay_in(tmp_path), "lift the cup")
    before = (tmp_path / "memory" / "manifest.json").read_bytes()
    with pytest.raises(BadInput, match=message) as caught:
        learn(replay_in(tmp_path, **encoders), "drop the cup")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "memory" / "manifest.json").read_bytes() == before


def test_what_could_not_be_kept_can_be_kept_later_without_training_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = replay_in(tmp_path)
    learn(replay, "lift the cup")
    before = {path: path.read_bytes() for path in (tmp_path / "memory").rglob("*.*")}

    def full(stage: str, path: Path) -> None:
        if stage == "synced" and "manifest" in path.name:
            raise OSError(28, os.strerror(28), str(path))

    with monkeypatch.context() as patch:
        patch.setattr("phaser.core.files.reached", full)
        with (
            pytest.raises(NotKept, match=r"No space left.*call task\.finish\(\).*training again"),
            replay.task(numpy_dataset(), instruction="drop the cup") as task,
        ):
            task.sample(3)
    assert {path: path.read_bytes() for path in (tmp_path / "memory").rglob("*.*")} == before
    task.finish()
    assert replay.stored == ("lift-the-cup", "drop-the-cup")
    Store.open(tmp_path / "memory").verify()


def test_a_dataset_that_fails_at_the_end_costs_no_training(tmp_path: Path) -> None:
    dataset = numpy_dataset()
    whole = list(dataset)
    with (
        pytest.raises(NotKept, match=r"was learnt, but its frames could not be kept: .*finish\(\)"),
        replay_in(tmp_path).task(dataset, instruction="lift the cup") as task,
    ):
        dataset.clear()
    assert replay_in(tmp_path).stored == ()
    dataset.extend(whole)
    task.finish()
    assert replay_in(tmp_path).stored == ("lift-the-cup",)
