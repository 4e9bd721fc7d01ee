"""Phases written into LeRobot datasets and read back, in every form; damage is refused by name."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from synthetic import LAYOUT

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.segmentation import Segmentation
from phaser.demos.lerobot import open_dataset
from phaser.demos.lerobot_layout import Shapes, Sidecar
from phaser.demos.lerobot_writer import Episode, write_dataset
from phaser.phases.lerobot_export import write_phases
from phaser.phases.lerobot_phases import OWN_TABLE, read_phases

LENGTHS = (12, 9, 15)
PHASES = {
    0: Segmentation.from_boundaries([5, 8], num_frames=12, labels=["approach", "grasp", "lift"]),
    1: Segmentation.from_boundaries([2, 4], num_frames=9, labels=["approach", "grasp", "lift"]),
    2: Segmentation.from_boundaries([7], num_frames=15, labels=["push", "approach"]),
}


@pytest.fixture
def dataset(tmp_path):
    rng = np.random.default_rng(0)
    episodes = [
        Episode(
            instruction=f"task {number % 2}",
            actions=rng.normal(size=(length, 4)).astype(np.float32),
            states=np.zeros((length, 2), np.float32),
            images={"corner": rng.integers(0, 255, (length, 8, 8, 3), np.uint8)},
        )
        for number, length in enumerate(LENGTHS)
    ]
    shapes = Shapes(
        fps=20,
        robot_type="arm",
        state_names=("x", "y"),
        action_names=("dx", "dy", "dz", "grip"),
        cameras={"corner": (8, 8)},
    )
    root = tmp_path / "dataset"
    write_dataset(root, episodes, shapes=shapes, sidecar=Sidecar(layout=LAYOUT))
    return root


@pytest.mark.parametrize("own_table", [True, False])
@pytest.mark.parametrize("form", ["subtasks", "language", "both"])
def test_what_is_written_is_read_back_from_either_form(dataset, tmp_path, form, own_table):
    out = tmp_path / "out"
    write_phases(dataset, out, PHASES, source="human", form=form)
    if not own_table:
        (out / OWN_TABLE).unlink()
    assert read_phases(out) == PHASES


@pytest.mark.parametrize("form", ["subtasks", "language", "both"])
def test_the_demonstrations_stay_what_they_were(dataset, tmp_path, form):
    before = open_dataset(dataset).data_sha256()
    write_phases(dataset, tmp_path / "out", PHASES, source="human", form=form)
    assert open_dataset(dataset).data_sha256() == before
    pairs = zip(open_dataset(dataset).demos(), open_dataset(tmp_path / "out").demos(), strict=True)
    for old, new in pairs:
        np.testing.assert_array_equal(old.actions, new.actions)
        frames = range(old.num_frames)
        np.testing.assert_array_equal(
            old.cameras["corner"].read(frames), new.cameras["corner"].read(frames)
        )


def test_subtasks_lie_where_lerobot_looks_for_them(dataset, tmp_path):
    out = tmp_path / "out"
    write_phases(dataset, out, PHASES, source="human")
    table = pq.read_table(out / "meta/subtasks.parquet")
    assert table["subtask_index"].to_pylist() == list(range(4))
    assert json.loads(table.schema.metadata[b"pandas"])["index_columns"] == ["subtask"]
    data = pq.read_table(out / "data/chunk-000/file-000.parquet")
    texts = table["subtask"].to_pylist()
    shown = [texts[k] for k in data["subtask_index"].to_pylist()]
    expected = [PHASES[e].labels[PHASES[e].phase_at(f)] for e in PHASES for f in range(LENGTHS[e])]
    assert shown == expected
    described = json.loads(data.schema.metadata[b"huggingface"])["info"]["features"]
    assert set(described) == set(data.column_names)
    features = json.loads((out / "meta/info.json").read_text())["features"]
    assert features["subtask_index"] == {"dtype": "int64", "shape": [1], "names": None}


def test_language_rows_are_the_same_in_every_frame_of_an_episode(dataset, tmp_path):
    out = tmp_path / "out"
    write_phases(dataset, out, PHASES, source="human", form="language")
    data = pq.read_table(out / "data/chunk-000/file-000.parquet")
    rows = data["language_persistent"].to_pylist()
    assert all(one == rows[0] for one in rows[: LENGTHS[0]])
    assert [(one["content"], one["style"]) for one in rows[0]] == [
        (label, "subtask") for label in PHASES[0].labels
    ]
    assert [one["timestamp"] for one in rows[0]] == pytest.approx([0, 0.25, 0.4])
    assert data["language_events"].to_pylist() == [[]] * sum(LENGTHS)


def test_other_language_styles_are_left_alone_when_reading(dataset, tmp_path):
    out = tmp_path / "out"
    write_phases(dataset, out, PHASES, source="human", form="language")
    (out / OWN_TABLE).unlink()
    change_column(
        out,
        "language_persistent",
        lambda rows: [[plan_row(), *(keep(one) for one in part)] for part in rows],
    )
    assert read_phases(out) == PHASES


def test_columns_that_would_be_lost_are_refused(dataset, tmp_path):
    write_phases(dataset, tmp_path / "one", PHASES, source="human", form="language")
    with pytest.raises(BadInput, match="would be lost"):
        write_phases(tmp_path / "one", tmp_path / "two", PHASES, source="human", form="language")
    write_phases(tmp_path / "one", tmp_path / "two", PHASES, source="human", form="subtasks")
    assert read_phases(tmp_path / "two") == PHASES


def test_phases_of_other_demonstrations_are_refused_and_nothing_is_left(dataset, tmp_path):
    with pytest.raises(BadInput, match=r"episode 2 .* no phases"):
        write_phases(dataset, tmp_path / "out", {0: PHASES[0], 1: PHASES[1]}, source="human")
    with pytest.raises(BadInput, match="phases of 9 frames"):
        write_phases(dataset, tmp_path / "out", {**PHASES, 0: PHASES[1]}, source="human")
    with pytest.raises(BadInput, match="exists already"):
        write_phases(dataset, dataset, PHASES, source="human")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["dataset"]


def test_a_link_that_leads_out_is_refused(dataset, tmp_path):
    (tmp_path / "secret").write_text("x")
    (dataset / "notes").symlink_to(tmp_path / "secret")
    with pytest.raises(BrokenFile, match="leads out"):
        write_phases(dataset, tmp_path / "out", PHASES, source="human")
    assert not (tmp_path / "out").exists()


def test_a_dataset_without_phases_says_where_they_were_looked_for(dataset):
    with pytest.raises(BrokenFile, match="holds no phases"):
        read_phases(dataset)


def plan_row():
    return {"role": "assistant", "content": "think", "style": "plan", "timestamp": 0.0}


def keep(row):
    return {name: row[name] for name in ("role", "content", "style", "timestamp")}


def change_column(root, name, change):
    path = root / "data/chunk-000/file-000.parquet"
    table = pq.read_table(path)
    position = table.column_names.index(name)
    values = pa.array(change(table[name].to_pylist()))
    pq.write_table(table.set_column(position, name, values), path)


def frame_without_subtask(root):
    change_column(root, "subtask_index", lambda values: [-1, *values[1:]])


def subtask_as_text(root):
    change_column(root, "subtask_index", lambda values: [str(one) for one in values])


def labels_gone(root):
    (root / "meta/subtasks.parquet").unlink()


def labels_damaged(root):
    (root / "meta/subtasks.parquet").write_bytes(b"PAR1 nothing")


def labels_of_another_shape(root):
    pq.write_table(pa.table({"a": [1], "b": [2]}), root / "meta/subtasks.parquet")


DAMAGE = [
    frame_without_subtask,
    subtask_as_text,
    labels_gone,
    labels_damaged,
    labels_of_another_shape,
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_subtasks_are_refused(dataset, tmp_path, damage):
    out = tmp_path / "out"
    write_phases(dataset, out, PHASES, source="human")
    (out / OWN_TABLE).unlink()
    damage(out)
    with pytest.raises(BrokenFile):
        read_phases(out)


def test_a_table_of_our_own_that_leaves_a_gap_is_refused(dataset, tmp_path):
    out = tmp_path / "out"
    write_phases(dataset, out, PHASES, source="human")
    rows = pq.read_table(out / OWN_TABLE).to_pylist()
    pq.write_table(pa.Table.from_pylist(rows[1:]), out / OWN_TABLE)
    with pytest.raises(BrokenFile, match="episode 0"):
        read_phases(out)
    shutil.rmtree(out)


def test_language_that_starts_late_or_differs_is_refused(dataset, tmp_path):
    out = tmp_path / "out"
    write_phases(dataset, out, PHASES, source="human", form="language")
    (out / OWN_TABLE).unlink()
    change_column(out, "language_persistent", lambda rows: [[keep(r) for r in p] for p in rows])
    change_column(out, "language_persistent", lambda rows: [*rows[:11], [], *rows[12:]])
    with pytest.raises(BrokenFile, match="differs between the frames"):
        read_phases(out)
    change_column(out, "language_persistent", lambda rows: [part[1:] for part in rows])
    change_column(out, "language_persistent", lambda rows: [*rows[:11], rows[0], *rows[12:]])
    with pytest.raises(BrokenFile, match="no subtask begins"):
        read_phases(out)
