"""Phases that a LeRobot dataset carries: written by segment, used by Replay and by runs."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phaser import Replay, Store
from phaser.cli import main
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.segmentation import Segmentation
from phaser.demos.lerobot import open_dataset
from phaser.demos.opening import open_demos
from phaser.experiments.run import Run
from phaser.phases.annotated import Annotated
from phaser.phases.in_datasets import annotation_of
from phaser.phases.lerobot_phases import read_phases
from phaser.replay.demo_samples import DemoSamples
from phaser.suites.datasets.suite import Datasets

RECORDED = Path(__file__).parents[1] / "fixtures" / "lerobot_v3"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDED, tmp_path / "dataset"))


@pytest.fixture(scope="module")
def with_phases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("segmented")
    words = ["segment", str(RECORDED), "--layout", "metaworld", "--out", str(folder / "s.json")]
    assert main.execute([*words, "--to-lerobot", str(folder / "copy")]) == 0
    return folder / "copy"


def annotate_as_sarm(root: Path, subtasks: list[list[tuple[str, int, int]] | None]) -> None:
    """Add the columns of SARM's annotation, with first and last frames as it writes them."""
    table = pq.read_table(root / EPISODES)
    for place, part in enumerate(("names", "start_frames", "end_frames")):
        values = [None if one is None else [row[place] for row in one] for one in subtasks]
        table = table.append_column(f"sparse_subtask_{part}", pa.array(values))
    pq.write_table(table, root / EPISODES)


def halves(root: Path) -> list[list[tuple[str, int, int]] | None]:
    lengths = [one.num_frames for one in open_dataset(root).episodes]
    return [[("reach", 0, size // 2), ("pull", size // 2, size - 1)] for size in lengths]


def test_segment_writes_what_it_found_into_a_copy(with_phases: Path) -> None:
    stages = json.loads((with_phases.parent / "s.json").read_text())["tasks"]
    found = read_phases(with_phases)
    assert found.keys() == {one.index for one in open_dataset(RECORDED).episodes}
    for task in stages.values():
        for one in task["episodes"]:
            assert list(found[one["episode"]].boundaries) == one["boundaries"]
    assert "subtask_index" not in (RECORDED / "meta/info.json").read_text()


@pytest.mark.parametrize(
    ("source", "said"),
    [("here.hdf5", "copies one LeRobot dataset"), (str(RECORDED), "exists already")],
)
def test_a_copy_that_cannot_be_is_refused_before_anything_is_read(
    source: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["segment", source, "--layout", "metaworld", "--out", str(tmp_path / "s.json")]
    assert main.execute([*words, "--to-lerobot", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_the_annotation_of_sarm_is_read_as_sarm_reads_it(dataset: Path) -> None:
    annotate_as_sarm(dataset, halves(dataset))
    for one in open_dataset(dataset).episodes:
        found = read_phases(dataset)[one.index]
        assert found.labels == ("reach", "pull")
        # The frame that two subtasks share belongs to the earlier one.
        assert found.boundaries == (one.num_frames // 2 + 1,)


def test_episodes_without_annotation_get_theirs_from_the_others(dataset: Path) -> None:
    first, *others = halves(dataset)
    annotate_as_sarm(dataset, [first, *([None] * len(others))])
    found = read_phases(dataset)
    assert len(found) == 1
    opened = open_demos(dataset, layout="metaworld")
    demos = tuple(opened.demos(opened.tasks[0]))
    cut = Annotated(annotation=annotation_of("task", found)).segment(demos)
    assert {one.labels for one in cut} == {("reach", "pull")}


def test_broken_subtasks_are_refused_by_episode(dataset: Path) -> None:
    subtasks = halves(dataset)
    subtasks[0] = [("reach", 0, 30), ("pull", 5000, 6000)]
    annotate_as_sarm(dataset, subtasks)
    with pytest.raises(BrokenFile, match=r"episode 0: phase 'pull' spans"):
        read_phases(dataset)


def test_neighbours_of_one_name_become_one_phase() -> None:
    cut = Segmentation.from_boundaries([2, 4], num_frames=9, labels=["reach", "reach", "pull"])
    other = Segmentation.from_boundaries([3], num_frames=6, labels=["reach", "pull"])
    found = annotation_of("task", {0: cut, 5: other})
    assert found.names == ("reach", "pull")
    assert [(one.episode, one.boundaries) for one in found.episodes] == [(0, (4,)), (5, (3,))]


@dataclass(frozen=True, eq=False)
class RootedSamples(DemoSamples):
    """Samples that know their folder, as LeRobot's dataset does."""

    root: Path = RECORDED


def test_replay_keeps_by_the_phases_of_the_dataset(with_phases: Path, tmp_path: Path) -> None:
    opened = open_demos(with_phases, layout="metaworld")
    samples = RootedSamples(list(opened.demos(opened.tasks[0])), root=with_phases)
    replay = Replay(tmp_path / "memory", method="phase-only", budget=12, phases="dataset")
    with replay.task(samples, instruction="do it", name="one"):
        pass
    labels = {bucket.phase.label for bucket in Store.open(tmp_path / "memory").memory.buckets}
    found = read_phases(with_phases)
    assert labels == {label for demo in samples.demos for label in found[demo.index].labels}


def test_a_dataset_without_a_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    opened = open_demos(RECORDED, layout="metaworld")
    replay = Replay(tmp_path / "memory", method="phase-only", budget=12, phases="dataset")
    with pytest.raises(BadInput, match="without a root; give a"):
        replay.task(list(opened.demos(opened.tasks[0])), instruction="do it")


def test_a_run_takes_the_phases_of_its_datasets(with_phases: Path) -> None:
    suite = Datasets(sources=(with_phases,), layout="metaworld", cameras=("corner",))
    run = Run(suite=suite).with_phases("dataset")
    found = read_phases(with_phases)
    for annotation in run.phases:
        task = next(one for one in run.suite.tasks() if one.name == annotation.task)
        demos = (*run.suite.demos(task, "train"), *run.suite.demos(task, "heldout"))
        cut = run.segmenter_of(task.name).segment(demos)
        assert cut == tuple(found[demo.index] for demo in demos)


def test_a_suite_without_datasets_says_so() -> None:
    with pytest.raises(BadInput, match="carry no phases"):
        Run().with_phases("dataset")
