"""What was found out about the memory inside real LeRobot (facts A to H), each as a test."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from arm_datasets import CAMERA, LEFT, Arm, episode, features, write_dataset
from plain_memories import plain_memory
from torch.utils.data import ConcatDataset, DataLoader, Subset

import phaser
from phaser import Replay, Store
from phaser.core.errors import BadInput


def opened(root: Path, **settings: Any) -> Any:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    return LeRobotDataset(f"made/{root.name}", root=root, **settings)


def memory(folder: Path, **settings: Any) -> Replay:
    return plain_memory(folder / "memory", **settings)


def kept(replay: Replay) -> list[tuple[Any, Any]]:
    store = Store.open(replay.folder)
    refs = [ref for bucket in store.memory.buckets for ref in bucket.frames]
    return list(zip(refs, store.read(refs), strict=True))


def test_fact_a_forked_workers_read_videos_after_a_task_began(
    tmp_path: Path, arms: dict[str, Path]
) -> None:
    from lerobot.datasets import video_utils

    pytest.importorskip(
        "torchcodec.decoders",
        reason="needs FFmpeg (scripts/setup_ffmpeg.sh) and a torchcodec for this torch",
        exc_type=RuntimeError,
    )

    def begin(worker: int) -> None:
        """An inherited decoder fails only now and then, so that there is none is what counts."""
        assert video_utils._default_decoder_cache.size() == 0

    dataset = opened(arms["left"], video_backend="torchcodec")
    with memory(tmp_path).task(dataset):
        assert video_utils._default_decoder_cache.size() > 0
        batches = list(
            DataLoader(
                dataset, 8, num_workers=2, multiprocessing_context="fork", worker_init_fn=begin
            )
        )
    fresh = opened(arms["left"], video_backend="pyav")
    seen = torch.cat([batch[CAMERA] for batch in batches])
    assert len(seen) == len(fresh)
    for row in range(0, len(fresh), 17):
        assert (seen[row] - fresh[row][CAMERA]).abs().max() < 0.05


def test_fact_a_no_forked_process_inherits_an_open_decoder(
    tmp_path: Path, arms: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cause itself, whatever decodes here: what LeRobot's cache holds, a child must not see."""
    from lerobot.datasets import video_utils

    cache = type(video_utils._default_decoder_cache)()
    monkeypatch.setattr(video_utils, "_default_decoder_cache", cache)
    with memory(tmp_path).task(opened(arms["left"], video_backend="pyav")):
        cache._cache["a video that is open"] = (object(), None)
        assert video_utils._default_decoder_cache.size() == 1
        child = os.fork()
        if child == 0:
            os._exit(video_utils._default_decoder_cache.size())
        _, status = os.waitpid(child, 0)
        cache._cache.clear()
    assert os.waitstatus_to_exitcode(status) == 0


def test_fact_b_annotations_that_grow_are_kept(tmp_path: Path) -> None:
    language = pytest.importorskip(
        "lerobot.datasets.language", reason="LeRobot before 0.6 has no language columns"
    )
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    arm = Arm(num_episodes=2)
    root = write_dataset(tmp_path / "plain", arm, video=False)
    dataset = LeRobotDataset("made/plain", root=root)
    rows = [
        {"role": "user", "content": f"part {k}", "style": "subtask", "timestamp": k / 10}
        for k in range(3)
    ]

    class Annotated:
        """The dataset with rows that LeRobot's annotation would have added."""

        layout = phaser.ActionLayout(
            motion=(0, 1, 2, 3, 4), gripper=(5,), convention="absolute", gripper_closes="falling"
        )
        hf_dataset, meta = dataset.hf_dataset, dataset.meta

        def __len__(self) -> int:
            return len(dataset)

        def __getitem__(self, row: int) -> dict[str, Any]:
            sample = dataset[row]
            number = int(sample["episode_index"]) + int(sample["frame_index"]) // 20
            return {**sample, language.LANGUAGE_PERSISTENT: rows[:number]}

    replay = memory(tmp_path)
    with replay.task(Annotated()):
        pass
    assert len({len(one[language.LANGUAGE_PERSISTENT]) for _, one in kept(replay)}) > 1


def test_fact_d_joint_names_tell_the_layout_and_the_phases(
    tmp_path: Path, arms: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    replay = memory(tmp_path)
    with replay.task(opened(arms["left_png"])):
        pass
    said = capsys.readouterr().err
    assert "arm 0 1 2 3 4, gripper 5 (a falling number closes it), targets" in said
    (task,) = Store.open(replay.folder).tasks
    labels = [row["label"] for row in task.phases]
    assert labels[0] == "approach"
    assert 3 <= len(labels) <= 5
    assert "release" not in labels[:2]
    assert "release" in labels[2:]
    by_name = memory(tmp_path / "named", layout="so100")
    with by_name.task(opened(arms["left_png"])):
        pass
    assert [row["label"] for row in Store.open(by_name.folder).tasks[0].phases] == labels
    with memory(tmp_path / "told", layout=phaser.ActionLayout(motion=(0, 1), gripper=())).task(
        opened(arms["stiff_png"])
    ):
        pass
    assert "one single phase" in capsys.readouterr().err


def test_fact_e_transforms_are_rehearsed_not_stored(tmp_path: Path, arms: dict[str, Path]) -> None:
    # 0.4 has the module below datasets, 0.6 beside it.
    names = ("lerobot.datasets.transforms", "lerobot.transforms")
    place = next(name for name in names if importlib.util.find_spec(name))
    module = importlib.import_module(place)
    transforms = module.ImageTransforms(module.ImageTransformsConfig(enable=True))
    plain = opened(arms["left_png"])
    dataset = opened(arms["left_png"], image_transforms=transforms)
    replay = memory(tmp_path, codec="webp-lossless")
    with replay.task(dataset):
        pass
    episodes = np.ravel(plain.hf_dataset["episode_index"])
    for ref, sample in kept(replay):
        recorded = plain[int(np.argmax(episodes == ref.demo)) + ref.frame]
        np.testing.assert_array_equal(sample[CAMERA].values, recorded[CAMERA].numpy())
    assert Store.open(replay.folder).num_bytes < 100_000
    assert dataset.image_transforms is transforms
    assert not torch.equal(dataset[0][CAMERA], plain[0][CAMERA])
    with replay.task(dataset, instruction="again") as task:
        stored = [sample[CAMERA].values for _, sample in kept(replay)]
        rehearsed = [one[CAMERA].numpy() for one in task.sample(6)]
    assert not any((one == other).all() for one in rehearsed for other in stored)


def test_fact_f_two_tasks_in_one_dataset(tmp_path: Path) -> None:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset = LeRobotDataset.create(
        "made/both", 10, features(LEFT, video=False), tmp_path / "both", "so100_follower", False
    )
    chance = np.random.default_rng(0)
    for number in range(4):
        for frame in episode(LEFT, chance):
            dataset.add_frame({**frame, "task": ("lift it", "drop it")[number % 2]})
        dataset.save_episode()
    dataset.finalize()
    whole = opened(tmp_path / "both")
    replay = memory(tmp_path)
    with pytest.raises(BadInput, match=r"holds 2 tasks \('lift it', 'drop it'\)"):
        replay.task(whole, instruction="lift it")
    for part in phaser.tasks_of(whole).values():
        with replay.task(part):
            pass
    assert replay.stored == ("lift-it", "drop-it")
    assert {ref.demo for ref, _ in kept(replay) if ref.task == "drop-it"} <= {1, 3}


def test_fact_g_clips_are_a_fraction_of_lossless_images(tmp_path: Path) -> None:
    """Bytes per frame as measured: 5,526 in the video, 32,162 as images, 7,193 as clips.

    Were every frame of a clip encoded alone, it would take about 13,000.
    """
    root = write_dataset(
        tmp_path / "table", Arm(side=160, textured=True, num_episodes=8), video=True
    )
    dataset = opened(root, video_backend="pyav")
    videos = sum(path.stat().st_size for path in root.rglob("*.mp4"))
    per_frame = {"video": videos / len(dataset)}
    for codec in ("webp-lossless", "h264:90"):
        replay = memory(tmp_path / codec, codec=codec, keep_frames=100)
        with replay.task(dataset):
            pass
        store = Store.open(replay.folder)
        store.verify()
        assert store.num_frames == 100
        per_frame[codec] = store.certificate()["total_bytes"] / 100
    for ref, sample in kept(replay):
        rows = np.ravel(dataset.hf_dataset["episode_index"]) == ref.demo
        recorded = dataset[int(np.argmax(rows)) + ref.frame][CAMERA].numpy()
        error = np.mean((sample[CAMERA].values - recorded) ** 2)
        assert -10 * np.log10(error) > 34
    assert per_frame["h264:90"] < per_frame["webp-lossless"] / 3
    assert per_frame["h264:90"] < 1.6 * per_frame["video"]


def test_fact_h_datasets_inside_datasets(tmp_path: Path, arms: dict[str, Path]) -> None:
    from lerobot.datasets import lerobot_dataset

    left, right = opened(arms["left_png"]), opened(arms["right_png"])
    one_episode = np.flatnonzero(np.ravel(left.hf_dataset["episode_index"]) == 1).tolist()
    replay = memory(tmp_path)
    with replay.task(Subset(left, one_episode), name="one episode"):
        pass
    assert {ref.demo for ref, _ in kept(replay)} == {1}
    with pytest.raises(BadInput, match="holds 2 tasks"):
        replay.task(ConcatDataset([left, right]))
    with replay.task(ConcatDataset([left, right]), instruction="tidy up", as_one=True):
        pass
    assert {ref.demo for ref, _ in kept(replay) if ref.task == "tidy-up"} > {5}
    module = lerobot_dataset
    if not hasattr(module, "MultiLeRobotDataset"):
        from lerobot.datasets import multi_dataset as module
    repo_ids = [arms["left_png"].name, arms["right_png"].name]
    several = module.MultiLeRobotDataset(repo_ids, root=arms["left_png"].parent)
    with pytest.raises(BadInput, match=r"differ in \['dataset_index'\]"):
        replay.task(several, instruction="tidy up more", as_one=True)
    multi = memory(tmp_path / "multi")
    with multi.task(several, instruction="tidy up more", as_one=True):
        pass
    assert {int(one["dataset_index"].values) for _, one in kept(multi)} == {0, 1}


def test_fact_h_images_of_another_type_are_refused_on_entering(
    tmp_path: Path, arms: dict[str, Path]
) -> None:
    import inspect

    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    if "return_uint8" not in inspect.signature(LeRobotDataset).parameters:
        pytest.skip("LeRobot before 0.6 gives no images of bytes")
    replay = memory(tmp_path)
    with replay.task(opened(arms["left_png"])):
        pass
    with pytest.raises(BadInput, match=r"cannot be mixed with those of the stored task.*uint8"):
        replay.task(opened(arms["right"], return_uint8=True))


def test_fact_h_a_folder_of_phases_is_one_line(tmp_path: Path, arms: dict[str, Path]) -> None:
    with pytest.raises(BadInput, match="is a folder; expected a stage_info"):
        memory(tmp_path, phases=os.fspath(arms["left"])).task(opened(arms["left"]))
