"""Phases in the real LeRobot: written by us and shown by it, written by it and used by us."""

import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import pytest

from phaser import ActionLayout, Replay, Store
from phaser.cli import main
from phaser.phases.lerobot_phases import OWN_TABLE, read_phases

LAYOUT = ActionLayout(motion=(0, 1, 2, 3, 4), gripper=(5,), convention="absolute")
try:
    HAS_LANGUAGE = tuple(map(int, version("lerobot").split(".")[:2])) >= (0, 6)
except PackageNotFoundError:
    HAS_LANGUAGE = False
FORMS = ["subtasks", *(["language", "both"] if HAS_LANGUAGE else [])]


def opened(root: Path) -> object:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    return LeRobotDataset(f"made/{root.name}", root=root)


@pytest.fixture(scope="module", params=FORMS)
def segmented(
    request: pytest.FixtureRequest,
    arms: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Path]:
    """A form, and a copy of a video dataset that carries its phases in that form alone."""
    folder = tmp_path_factory.mktemp("phases")
    words = f"segment {arms['left']} --motion 0-4 --gripper 5 --gripper-closes falling --absolute"
    words += f" --out {folder / 's.json'} --to-lerobot {folder / 'copy'}"
    assert main.execute([*words.split(), "--lerobot-form", request.param]) == 0
    return request.param, folder / "copy"


def test_lerobot_shows_the_phases_that_segment_wrote(
    segmented: tuple[str, Path], arms: dict[str, Path]
) -> None:
    form, root = segmented
    phases, dataset, source = read_phases(root), opened(root), opened(arms["left"])
    assert len({label for one in phases.values() for label in one.labels}) > 1
    assert len(dataset) == len(source)
    for place in range(0, len(dataset), 7):
        row, before = dataset[place], source[place]
        cut = phases[int(row["episode_index"])]
        label = cut.labels[cut.phase_at(int(row["frame_index"]))]
        assert (row["action"] == before["action"]).all()
        assert (row["observation.images.front"] == before["observation.images.front"]).all()
        if form != "subtasks":
            told = [one for one in row["language_persistent"] if one["style"] == "subtask"]
            begun = [one["content"] for one in told if one["timestamp"] <= row["timestamp"] + 0.01]
            assert begun[-1] == label
        elif not HAS_LANGUAGE:
            assert row["subtask"] == label


def test_replay_keeps_by_the_phases_that_lerobots_columns_carry(
    segmented: tuple[str, Path], tmp_path: Path
) -> None:
    _, root = segmented
    expected = read_phases(root)
    copy = Path(shutil.copytree(root, tmp_path / "copy"))
    (copy / OWN_TABLE).unlink()
    replay = Replay(
        tmp_path / "memory", method="phase-only", budget=12, layout=LAYOUT, phases="dataset"
    )
    with replay.task(opened(copy), instruction="put the cube to the left"):
        pass
    for bucket in Store.open(tmp_path / "memory").memory.buckets:
        for ref in bucket.frames:
            cut = expected[ref.demo]
            assert cut.labels[cut.phase_at(ref.frame)] == bucket.phase.label


def test_the_columns_of_lerobots_sarm_are_read(
    arms: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written by LeRobot's own function; the model that finds subtasks is not needed for that."""
    pytest.importorskip("pydantic", reason="needs pydantic, which LeRobot's SARM annotation uses")
    model = ModuleType("transformers")
    model.AutoProcessor = model.Qwen3VLMoeForConditionalGeneration = object
    with monkeypatch.context() as while_importing:
        while_importing.setitem(sys.modules, "transformers", model)
        from lerobot.data_processing.sarm_annotations import subtask_annotation as sarm

    root = Path(shutil.copytree(arms["left"], tmp_path / "left"))
    time = sarm.Timestamp
    stages = [("reach", "00:00", "00:01"), ("carry", "00:01", "00:03")]
    annotation = sarm.SubtaskAnnotation(
        subtasks=[
            sarm.Subtask(name=name, timestamps=time(start=start, end=end))
            for name, start, end in stages
        ]
    )
    sarm.save_annotations_to_dataset(root, {0: annotation, 2: annotation}, fps=10)
    found = read_phases(root)
    assert found.keys() == {0, 2}
    assert found[0].labels == ("reach", "carry")
    assert found[0].boundaries == (11,)
