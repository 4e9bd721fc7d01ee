"""What real LeRobot datasets brought to light, with datasets that imitate them.

The same facts against the real package: tests/integrations/lerobot.
"""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from lerobot_like import LeRobotDatasetLike
from made_samples import learn, numpy_dataset, replay_in
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset

import phaser
from phaser import ActionLayout, Columns
from phaser.core.errors import BadInput
from phaser.memory.store import Store
from phaser.replay.recording import read_recording

TOP = "observation.images.top"


class DecoderCache:
    """LeRobot's cache of open decoders: one per process, inherited by forks."""

    def __init__(self) -> None:
        self.decoders: list[str] = []


class SharesDecoders(Dataset):
    """Says whose decoders a worker would use."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, row: int) -> int:
        cache: Any = sys.modules["lerobot.datasets.video_utils"]._default_decoder_cache
        return len(cache.decoders)


def test_forked_workers_begin_without_the_decoders_of_the_training_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = ModuleType("lerobot.datasets.video_utils")
    module._default_decoder_cache = cache = DecoderCache()
    monkeypatch.setitem(sys.modules, "lerobot.datasets.video_utils", module)
    with replay_in(tmp_path).task(LeRobotDatasetLike()):
        cache.decoders.append("opened by the training process")
        loader = DataLoader(SharesDecoders(), num_workers=1, multiprocessing_context="fork")
        assert [int(one) for one in loader] == [0, 0]
    assert module._default_decoder_cache is cache
    assert len(cache.decoders) == 1


def annotated(episode: int, frame: int) -> dict[str, Any]:
    """LeRobot 0.6: one row per subtask so far, so their number grows within an episode."""
    rows = [
        {"role": "user", "content": f"step {k}", "timestamp": k / 30, "tool_calls": None}
        for k in range(episode + frame // 5)
    ]
    return {"language_persistent": rows}


def test_annotations_of_any_length_are_one_leaf_and_come_back(tmp_path: Path) -> None:
    dataset = LeRobotDatasetLike(extra=annotated)
    learn(replay_in(tmp_path, budget=14), "lift the cup", dataset=dataset)
    store = Store.open(tmp_path / "memory")
    refs = [ref for bucket in store.memory.buckets for ref in bucket.frames]
    assert len({len(one["language_persistent"]) for one in store.read(refs)}) > 2
    for ref, stored in zip(refs, store.read(refs), strict=True):
        assert (
            stored["language_persistent"] == annotated(ref.demo, ref.frame)["language_persistent"]
        )
    assert "language_persistent" in store.shard(refs[0].task).leaf_paths()


def test_image_transforms_are_off_while_reading_and_on_when_rehearsing(tmp_path: Path) -> None:
    def noisy(image: torch.Tensor) -> torch.Tensor:
        return image[:, :8, :8] + torch.rand(1) + 1

    dataset = LeRobotDatasetLike(image_transforms=noisy)
    replay = replay_in(tmp_path)
    learn(replay, "lift the cup", dataset=dataset)
    assert dataset.image_transforms is noisy
    store = Store.open(tmp_path / "memory")
    (sample,) = store.read(store.memory.buckets[0].frames[:1])
    assert sample[TOP].values.shape == (3, 16, 16)
    assert sample[TOP].values.max() <= 1

    batch = next(iter(DataLoader(dataset, batch_size=4)))
    with replay.task(dataset, instruction="drop the cup") as task:
        before = torch.get_rng_state()
        mixed = task.mix(batch)[TOP]
        assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(mixed[:2], batch[TOP][:2])
    assert mixed.shape == (4, 3, 8, 8)
    assert mixed.min() >= 1


def test_the_same_step_is_augmented_in_the_same_way(tmp_path: Path) -> None:
    dataset = LeRobotDatasetLike(image_transforms=lambda image: image * torch.rand(1))
    learn(replay_in(tmp_path), "lift the cup", dataset=dataset)
    drawn = []
    for _ in range(2):
        task = replay_in(tmp_path).task(dataset, instruction="drop the cup", start_step=3)
        drawn.append([one[TOP] for one in task.sample(3)])
        task.reading.close()
    assert all(torch.equal(one, other) for one, other in zip(*drawn, strict=True))


def test_a_dataset_that_answers_at_random_is_said_aloud(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Augmented(LeRobotDatasetLike):
        def __getitem__(self, row: int) -> dict[str, Any]:
            return {**super().__getitem__(row), "noise": torch.rand(3)}

    learn(replay_in(tmp_path), "lift the cup", dataset=Augmented())
    (line,) = (one for one in capsys.readouterr().err.splitlines() if "differently" in one)
    assert line.startswith("phaser: the dataset gives 'noise' differently each time it is read")


def test_the_instruction_comes_from_the_dataset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replay = replay_in(tmp_path)
    with replay.task(LeRobotDatasetLike()) as task:
        assert task.name == "lift-the-cup"
    with replay.task(numpy_dataset(), name="from samples"):
        pass
    assert [one.instruction for one in Store.open(replay.folder).tasks] == ["lift the cup"] * 2
    capsys.readouterr()
    learn(replay, "drop the cup", dataset=LeRobotDatasetLike())
    said = capsys.readouterr().err
    assert "the dataset calls this task 'lift the cup'; it is kept as 'drop the cup'" in said


def test_several_tasks_in_one_dataset_are_refused_or_become_several(tmp_path: Path) -> None:
    dataset = LeRobotDatasetLike(instructions=("lift the cup", "drop the cup"))
    replay = replay_in(tmp_path, budget=4)
    for instruction in (None, "lift the cup"):
        with pytest.raises(BadInput, match=r"holds 2 tasks \('lift the cup', 'drop.*tasks_of"):
            replay.task(dataset, instruction=instruction)
    parts = phaser.tasks_of(dataset)
    assert {name: len(part) for name, part in parts.items()} == {
        "lift the cup": 12,
        "drop the cup": 33,
    }
    for part in parts.values():
        with replay.task(part):
            pass
    assert replay.stored == ("lift-the-cup", "drop-the-cup")
    with replay.task(dataset, instruction="tidy up", as_one=True):
        pass
    assert phaser.tasks_of(LeRobotDatasetLike()).keys() == {"lift the cup"}
    with pytest.raises(BadInput, match="does not say which task each row belongs to"):
        phaser.tasks_of([1, 2])


def test_without_any_instruction_one_is_asked_for(tmp_path: Path) -> None:
    nameless = [{k: v for k, v in one.items() if k != "task"} for one in numpy_dataset()]
    with pytest.raises(BadInput, match="instruction= is missing, and the dataset does not say"):
        replay_in(tmp_path, layout="metaworld").task(nameless)


def read(dataset: Any, **options: Any) -> Any:
    return read_recording(
        dataset, **({"task": "t", "columns": Columns(), "layout": None} | options)
    )


def test_a_subset_of_whole_episodes_costs_no_sample(tmp_path: Path) -> None:
    dataset = LeRobotDatasetLike()
    recording = read(Subset(dataset, list(range(12, 45))))
    assert dataset.asked == []
    assert [demo.num_frames for demo in recording.demos] == [15, 18]
    assert [demo.index for demo in recording.demos] == [1, 2]
    with pytest.raises(BadInput, match="has no frame 0 but later ones; give whole episodes"):
        read(Subset(dataset, list(range(20, 45))))


@pytest.mark.parametrize("joined", ["ConcatDataset", "MultiLeRobotDataset", "samples"])
def test_joined_datasets_are_numbered_on(
    joined: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class MultiLeRobotDataset(ConcatDataset):
        def __init__(self, datasets: list[Any]) -> None:
            super().__init__(datasets)
            self._datasets = datasets

    parts: list[Any] = [LeRobotDatasetLike(), LeRobotDatasetLike(lengths=(10, 11))]
    if joined == "samples":
        parts = [[part[row] for row in range(len(part))] for part in parts]
    kind = MultiLeRobotDataset if joined.startswith("Multi") else ConcatDataset
    layout = ActionLayout(motion=(0, 1, 2), gripper=(3,), convention="absolute")
    recording = read(kind(parts), layout=layout)
    assert [demo.num_frames for demo in recording.demos] == [12, 15, 18, 10, 11]
    assert [demo.index for demo in recording.demos] == [0, 1, 2, 3, 4]
    assert "numbered on, beginning at 0, 3" in capsys.readouterr().err
    sample = recording.samples[recording.rows[4][7]]
    assert (int(sample["episode_index"]), int(sample["frame_index"])) == (1, 7)


def test_transforms_inside_a_joined_dataset_are_off_too(tmp_path: Path) -> None:
    parts = [LeRobotDatasetLike(image_transforms=torch.zeros_like), LeRobotDatasetLike()]
    both = ConcatDataset(parts)
    learn(replay_in(tmp_path), "lift the cup", dataset=Subset(both, list(range(90))))
    store = Store.open(tmp_path / "memory")
    frames = [ref for bucket in store.memory.buckets for ref in bucket.frames]
    assert all(one[TOP].values.any() for one in store.read(frames))
    assert both.datasets == parts
    assert not both[0][TOP].any()


def test_joint_names_tell_the_layout_and_closing_is_no_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learn(replay_in(tmp_path), "lift the cup", dataset=LeRobotDatasetLike())
    said = capsys.readouterr().err
    assert "info.json: arm 0 1 2, gripper 3 (a falling number closes it), targets" in said
    assert "single phase" not in said
    labels = [row["label"] for row in Store.open(tmp_path / "memory").tasks[0].phases]
    assert "release" not in labels
    assert len(labels) > 1


def test_names_that_say_less_decide_nothing() -> None:
    dataset = LeRobotDatasetLike(names=["x", "y", "z", "gripper"])
    with pytest.raises(BadInput, match=r"does not say which of its 4 action numbers .*so101"):
        read(dataset)


def test_datasets_of_two_layouts_are_not_joined() -> None:
    other = LeRobotDatasetLike(names=["gripper.pos", "a.pos", "b.pos", "c.pos"])
    with pytest.raises(BadInput, match="declare different action layouts"):
        read(ConcatDataset([LeRobotDatasetLike(), other]))


def test_a_single_phase_is_said_aloud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    still = [{**one, "action": np.zeros(4, np.float32)} for one in numpy_dataset()]
    learn(replay_in(tmp_path, layout="metaworld"), "wait", dataset=still)
    assert "one single phase in 3 demonstrations" in capsys.readouterr().err
    learn(replay_in(tmp_path / "er", layout="metaworld", method="er"), "wait", dataset=still)
    assert "single phase" not in capsys.readouterr().err


def test_images_of_another_type_are_refused_on_entering(tmp_path: Path) -> None:
    replay = replay_in(tmp_path)
    learn(replay, "lift the cup", dataset=LeRobotDatasetLike())
    uint8 = LeRobotDatasetLike(as_bytes=True)
    with pytest.raises(BadInput, match=r"stored task 'lift-the-cup'.*torch\.uint8.*open both") as e:
        replay.task(uint8, instruction="drop the cup")
    assert "\n" not in str(e.value)
    with replay_in(tmp_path, rehearsed_share=0.0).task(uint8, instruction="drop the cup") as task:
        assert task.sample(2)[0][TOP].dtype == torch.float32


def test_a_folder_of_phases_is_one_line(tmp_path: Path) -> None:
    replay = replay_in(tmp_path, phases=tmp_path)
    with pytest.raises(BadInput, match=r"is a folder; expected a stage_info\.json") as caught:
        replay.task(LeRobotDatasetLike())
    assert "\n" not in str(caught.value)
