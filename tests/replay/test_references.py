"""A memory that refers to its datasets: the same draws, checked files, copies on demand."""

import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from lerobot_like import LeRobotDatasetLike, OnDisk, write_folder
from made_samples import numpy_dataset, replay_in
from torch.utils.data import ConcatDataset, DataLoader, Subset

from phaser import Budget, Store
from phaser.cli import main
from phaser.core.errors import BadInput, BrokenFile, MissingDependency, UnknownName

TOP = "observation.images.top"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset on disk, a cache of hashes of its own, and a LeRobot that opens it."""
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "cache"))
    module: Any = ModuleType("lerobot.datasets.lerobot_dataset")
    module.LeRobotDataset = OnDisk
    for name in ("lerobot", "lerobot.datasets"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return write_folder(tmp_path / "lift the cup")


def opened(root: Path, **settings: Any) -> OnDisk:
    return OnDisk(f"made/{root.name}", root, **settings)


def drawn(replay: Any) -> list[dict[str, Any]]:
    """Rehearsed samples of a next task, of which nothing is kept."""
    copying = replay_in(Path(replay.folder).parent)
    task = copying.task(LeRobotDatasetLike(instructions=("drop the cup",)))
    mixed = task.mix(next(iter(DataLoader(LeRobotDatasetLike(), batch_size=4))))
    found: list[dict[str, Any]] = [*task.sample(3), *task.sample(3), mixed]
    task.__exit__(KeyboardInterrupt, None, None)
    return found


def test_references_are_small_and_rehearse_the_same_samples(tmp_path: Path, root: Path) -> None:
    copies = replay_in(tmp_path / "a", codec="webp-lossless")
    places = replay_in(tmp_path / "b", store="references")
    for replay in (copies, places):
        with replay.task(opened(root, delta_timestamps={"action": [0.0, 0.1]})):
            pass
    small, large = (Store.open(one.folder) for one in (places, copies))
    assert small.certificate()["frames_per_task"] == large.certificate()["frames_per_task"]
    assert small.certificate()["total_bytes"] == 28 * small.num_frames
    assert small.certificate()["total_bytes"] < large.certificate()["total_bytes"] / 10
    for one, other in zip(drawn(places), drawn(copies), strict=True):
        assert one.keys() == other.keys()
        assert torch.equal(one[TOP], other[TOP])
        assert torch.equal(one["action"], other["action"])
    Store.open(places.folder).verify()


def test_the_dataset_is_opened_again_as_it_was(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    class Watched(OnDisk):
        def __init__(self, repo_id: str, **settings: Any) -> None:
            asked.append({"repo_id": repo_id, **settings})
            super().__init__(repo_id, **settings)

    replay = replay_in(tmp_path, store="references")
    with replay.task(Subset(opened(root, delta_timestamps={"action": [0.0]}), range(12, 45))):
        pass
    sys.modules["lerobot.datasets.lerobot_dataset"].LeRobotDataset = Watched  # type: ignore[attr-defined]
    found = drawn(replay)
    assert asked == [
        {
            "repo_id": "made/lift the cup",
            "root": str(root),
            "revision": "v3.0",
            "episodes": None,
            "delta_timestamps": {"action": [0.0]},
            "video_backend": "pyav",
        }
    ]
    assert {int(one["episode_index"]) for one in found[:6]} <= {1, 2}


def test_a_changed_or_missing_dataset_is_refused_before_training(
    tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replay = replay_in(tmp_path, store="references")
    with replay.task(opened(root)):
        pass
    assert main.execute(["memory", "verify", str(replay.folder)]) == 0
    assert f"dataset {root}" in capsys.readouterr().out
    table = next(root.rglob("data/**/*.parquet"))
    content = table.read_bytes()
    table.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(BrokenFile, match="has other files than when its frames were kept"):
        drawn(replay)
    assert main.execute(["memory", "verify", str(replay.folder)]) == 2
    assert "has other files than" in capsys.readouterr().err
    shutil.rmtree(root)
    with pytest.raises(BrokenFile, match=r"is not at .*; restore it, or forget its task"):
        drawn(replay)


def test_a_row_that_holds_another_frame_is_noticed(tmp_path: Path, root: Path) -> None:
    replay = replay_in(tmp_path, store="references")
    with replay.task(opened(root)):
        pass

    class Shifted(OnDisk):
        def __getitem__(self, row: int) -> dict[str, Any]:
            return super().__getitem__(row - 1)

    sys.modules["lerobot.datasets.lerobot_dataset"].LeRobotDataset = Shifted  # type: ignore[attr-defined]
    with pytest.raises(BrokenFile, match="when it was kept; restore the dataset"):
        drawn(replay)


def test_materialise_copies_and_the_dataset_may_go(
    tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replay = replay_in(tmp_path, store="references")
    with replay.task(opened(root)):
        pass
    folder = str(replay.folder)
    before, old = drawn(replay), Store.open(folder).tasks[0]
    out = str(tmp_path / "out")
    assert main.execute(["memory", "export", folder, "--to", out]) == 2
    assert f"copy them first: phaser memory materialise {folder}" in capsys.readouterr().err
    assert main.execute(["memory", "show", folder]) == 0
    assert "in its dataset" in capsys.readouterr().out
    words = ["memory", "materialise", folder, "--codec", "webp-lossless"]
    assert main.execute([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"][0]["task"] == "lift-the-cup"
    shutil.rmtree(root)
    store = Store.open(folder)
    store.verify()
    assert store.leftovers() == []
    assert (store.tasks[0].added, store.tasks[0].name) == (old.added, old.name)
    assert [row["frames"] for row in store.tasks[0].phases] == [row["frames"] for row in old.phases]
    for one, other in zip(drawn(replay), before, strict=True):
        assert torch.equal(one[TOP], other[TOP])
    assert main.execute(["memory", "materialise", folder]) == 0
    assert "nothing to copy" in capsys.readouterr().out
    assert main.execute(["memory", "materialise", folder, "--task", "lift"]) == 2


def test_what_cannot_be_referred_to_is_refused(tmp_path: Path, root: Path) -> None:
    replay = replay_in(tmp_path, store="references")
    with pytest.raises(BadInput, match=r"store='references' needs a LeRobotDataset.*ListDataset"):
        replay.task(numpy_dataset())
    with pytest.raises(BadInput, match=r"needs a LeRobotDataset.*ConcatDataset was given"):
        replay.task(ConcatDataset([opened(root), opened(root)]))
    with pytest.raises(BadInput, match="a budget in bytes counts copied frames"):
        replay_in(tmp_path, store="references", budget=Budget.bytes_per_task(10_000))
    with pytest.raises(UnknownName, match="store 'reference'; did you mean references"):
        replay_in(tmp_path, store="reference")
    with pytest.raises(BadInput, match=r"settings of [\d,]+ characters"):
        replay.task(opened(root, delta_timestamps={"action": [k / 10 for k in range(3000)]}))


def test_without_lerobot_one_line_says_what_is_missing(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = replay_in(tmp_path, store="references")
    with replay.task(opened(root)):
        pass
    monkeypatch.setitem(sys.modules, "lerobot.datasets.lerobot_dataset", None)
    with pytest.raises(MissingDependency, match=r"datasets need lerobot.*phaser-vla\[lerobot\]"):
        drawn(replay)
