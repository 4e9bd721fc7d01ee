"""Datasets of all kinds become demonstrations; what is missing or doubled is named."""

from typing import Any

import numpy as np
import pytest
import torch
from made_samples import LAYOUT, LENGTHS, ListDataset, actions_of, numpy_dataset

from phaser.core.demonstration import ActionLayout, FrameRef
from phaser.core.errors import BadInput, UnknownName
from phaser.demos.lerobot_layout import Sidecar
from phaser.replay.columns import Columns
from phaser.replay.recording import Recording, read_recording
from phaser.testing.made_up import made_up_demos
from phaser.testing.toy import ToyDemos


def read(dataset: Any, **options: Any) -> Recording:
    options = {"task": "lift", "columns": Columns(), "layout": None} | options
    return read_recording(dataset, **options)


class Table:
    """What LeRobot keeps its rows in: columns can be chosen, the format can be set."""

    def __init__(self, rows: dict[str, Any]) -> None:
        self.rows = rows
        self.column_names = list(rows)

    def select_columns(self, names: list[str]) -> "Table":
        return Table({name: self.rows[name] for name in names})

    def with_format(self, kind: str) -> "Table":
        assert kind == "numpy"
        return self

    def __getitem__(self, rows: slice) -> dict[str, Any]:
        return {name: values[rows] for name, values in self.rows.items()}


class LeRobotLike:
    """A dataset whose samples are expensive: reading one for its action would be a mistake."""

    layout = LAYOUT

    def __init__(self) -> None:
        table = {name: [] for name in ("action", "episode_index", "frame_index")}
        for sample in numpy_dataset():
            for name, values in table.items():
                values.append(sample[name])
        self.hf_dataset = Table({name: np.array(values) for name, values in table.items()})

    def __len__(self) -> int:
        return sum(LENGTHS)

    def __getitem__(self, row: int) -> dict[str, Any]:
        raise AssertionError("a sample was decoded to read its action")


def test_samples_become_demonstrations_and_lead_back_to_themselves() -> None:
    dataset = numpy_dataset()
    recording = read(dataset)
    assert [demo.num_frames for demo in recording.demos] == [*LENGTHS]
    np.testing.assert_array_equal(recording.demos[1].actions, actions_of(LENGTHS[1]))
    assert recording.sample(FrameRef("lift", 1, 4)) is dataset[LENGTHS[0] + 4]


def test_columns_of_a_table_are_read_without_a_single_sample() -> None:
    assert [demo.num_frames for demo in read(LeRobotLike()).demos] == [*LENGTHS]


def test_columns_of_a_dataset_are_read_by_its_own_method() -> None:
    demos = ToyDemos("left")
    assert read(demos).demos[0].num_frames == 40


def test_a_wanted_column_that_the_table_lacks_is_named() -> None:
    with pytest.raises(BadInput, match=r"no \['act'\] but \['action', 'episode_index'"):
        read(LeRobotLike(), columns=Columns(action="act"))


def test_other_names_and_tuples_are_read_through_the_mapping() -> None:
    renamed = ListDataset(
        {"ep": one["episode_index"], "t": one["frame_index"], "act": one["action"]}
        for one in numpy_dataset()
    )
    tuples = [(one["act"], one["ep"], one["t"]) for one in renamed]
    by_name = read(renamed, columns=Columns(episode="ep", frame="t", action="act"))
    by_place = read(tuples, columns=Columns(episode=1, frame=2, action=0), layout=LAYOUT)
    for one, other in zip(by_name.demos, by_place.demos, strict=True):
        np.testing.assert_array_equal(one.actions, other.actions)


def test_the_first_row_of_an_action_chunk_is_the_action_of_the_frame() -> None:
    chunked = ListDataset()
    for sample in numpy_dataset():
        chunk = np.stack([sample["action"], *[np.full(4, 9.0, np.float32)] * 3])
        chunked.append({**sample, "action": torch.from_numpy(chunk).to(torch.bfloat16)})
    found = read(chunked).demos[0].actions
    np.testing.assert_allclose(found, actions_of(LENGTHS[0]), atol=1e-2)


def test_states_are_read_where_they_are_named() -> None:
    dataset = ToyDemos("left")
    demo = read(dataset, columns=Columns(state="observation.state")).demos[0]
    assert demo.states.shape == (40, 4)
    assert read(dataset).demos[0].states.shape == (40, 0)


def test_our_own_demonstrations_are_a_dataset_too() -> None:
    demos = made_up_demos()
    recording = read(demos)
    assert [demo.num_frames for demo in recording.demos] == [demo.num_frames for demo in demos]
    sample = recording.sample(FrameRef("lift", 2, 7))
    np.testing.assert_array_equal(sample["action"], demos[2].actions[7])
    assert (sample["episode_index"], sample["frame_index"]) == (2, 7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.pop(5), "episode 0 of task 'lift' has no frame 5 but later ones"),
        (lambda rows: rows.pop(0), "episode 0 of task 'lift' has no frame 0 but later ones"),
        (lambda rows: rows.insert(4, rows[4]), "episode 0 of task 'lift' has frame 4 more than"),
        (lambda rows: rows.insert(0, rows.pop(3)), "episode 0 of task 'lift' has its frames out"),
        (
            lambda rows: rows.__setitem__(20, {**rows[20], "action": np.full(4, np.nan)}),
            "demonstration 1 of 'lift' holds NaN",
        ),
        (
            lambda rows: rows.__setitem__(20, {**rows[20], "action": np.zeros(5)}),
            r"'action' has the shapes \[\(4,\), \(5,\)\]",
        ),
        (
            lambda rows: rows.__setitem__(20, {"action": np.zeros(4)}),
            r"sample 20 has no 'episode_index' but \['action'\]",
        ),
        (lambda rows: rows.clear(), "the dataset of task 'lift' is empty"),
    ],
)
def test_a_defect_is_refused_and_named(change: Any, message: str) -> None:
    dataset = numpy_dataset()
    change(dataset)
    with pytest.raises(BadInput, match=message):
        read(dataset)


def test_an_iterable_dataset_is_refused() -> None:
    with pytest.raises(BadInput, match="expected a map-style dataset"):
        read(iter(numpy_dataset()))


def test_a_layout_is_never_guessed() -> None:
    with pytest.raises(BadInput, match=r"which of its 4 action numbers .* layout= one of aloha"):
        read(list(numpy_dataset()))
    assert read(list(numpy_dataset()), layout="metaworld").demos[0].layout == LAYOUT
    with pytest.raises(BadInput, match="have 4 numbers, the layout 'libero' 7"):
        read(numpy_dataset(), layout="libero")
    with pytest.raises(UnknownName, match="did you mean libero"):
        read(numpy_dataset(), layout="librero")
    with pytest.raises(BadInput, match="the layout names motion"):
        read(numpy_dataset(), layout=ActionLayout(motion=(0, 1, 7), gripper=()))


def test_a_layout_is_read_beside_the_dataset(tmp_path: Any) -> None:
    import json

    class Rooted(list[dict[str, Any]]):
        root = tmp_path

    (tmp_path / "meta").mkdir()
    sidecar = Sidecar(layout=ActionLayout(motion=(0, 1), gripper=(3,), convention="absolute"))
    (tmp_path / "meta" / "phaser.json").write_text(json.dumps(sidecar.to_json()))
    assert read(Rooted(numpy_dataset())).demos[0].layout.convention == "absolute"


def test_a_slow_dataset_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr("phaser.replay.columns.time.monotonic", lambda: next(clock))
    read(numpy_dataset())
    lines = capsys.readouterr().err.splitlines()
    assert "of 45 samples for their actions" in lines[0]
    assert 2 < len(lines) < 45
