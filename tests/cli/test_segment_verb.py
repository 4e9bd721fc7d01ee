"""`phaser segment`: files and tasks become phases in a file, a table, JSON and pictures."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest
from made_datasets import write_v2
from recorded_files import GRASPS, PACES, write_grasps
from synthetic import scripted_demo

from phaser.cli import main
from phaser.cli.segment_output import file_names
from phaser.demos.opening import open_demos
from phaser.phases.autopc import AutoPC
from phaser.phases.stage_info import TaskStages, read_stage_info
from phaser.phases.transfer import by_ratio
from phaser.suites.metaworld.suite import MetaWorld

SOURCE = str(Path(main.__file__).parents[2])
TASK = "put_the_cup_on_the_shelf"


def segmented(words: str, out: Path) -> dict[str, TaskStages]:
    assert main.execute([*shlex.split(words), "--out", str(out)]) == 0
    return read_stage_info(out)


@pytest.fixture
def cups(tmp_path: Path) -> Path:
    return write_grasps(tmp_path / "cups.hdf5")


def test_every_episode_is_cut_at_its_own_event(
    cups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = segmented(f"segment {cups} --layout libero", tmp_path / "s.json")[TASK]
    assert stages.instruction == "put the cup on the shelf"
    assert stages.names[:2] == ("approach", "grasp")
    assert [one.boundaries[0] for one in stages.episodes] == GRASPS
    assert [one.num_frames for one in stages.episodes] == [sum(pace) for pace in PACES]
    shown = capsys.readouterr()
    assert "put_the_cup_on_the_shelf      3     100" in shown.out
    assert "approach 40 %" in shown.out
    assert shown.out.endswith(f"phases: {tmp_path / 's.json'}\n")
    assert "1/1 put_the_cup_on_the_shelf: " in shown.err


@pytest.mark.parametrize("flag", ["--drop-no-ops", "--keep-no-ops", ""])
def test_idle_frames_are_left_out_by_time_and_counted_all_the_same(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cups = write_grasps(tmp_path / "cups.hdf5")
    with h5py.File(cups, "a") as file:
        actions = file["data/demo_0/actions"]
        actions[10:15, :6] = 0.0
    out = tmp_path / "s.json"
    stages = segmented(f"segment {cups} --layout libero {flag}", out)[TASK]
    # Phases are those of the demonstrations as they are, so any reader of them can use the file.
    assert [one.num_frames for one in stages.episodes] == [sum(pace) for pace in PACES]
    assert [one.boundaries[0] for one in stages.episodes] == GRASPS
    opened = open_demos(cups, layout="libero")
    demos = list(opened.demos(opened.tasks[0]))
    drop = {"--drop-no-ops": "always", "--keep-no-ops": "never", "": "auto"}[flag]
    again = AutoPC(drop_idle=drop).segment(demos)
    assert stages.episode_segmenter().segment(demos) == again
    assert "idle" not in capsys.readouterr().err


def test_the_user_is_told_where_most_steps_are_idle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cups = write_grasps(tmp_path / "cups.hdf5", paces=((40, 400, 40), (44, 420, 42)), images=False)
    words = f"segment {cups} --layout libero"
    segmented(words, tmp_path / "s.json")
    said = "note: put_the_cup_on_the_shelf: 83% of the steps are idle in all demonstrations; phases"
    assert said in capsys.readouterr().err
    segmented(f"{words} --json", tmp_path / "s.json")
    found = json.loads(capsys.readouterr().out)
    assert found["remarks"] == [f"{TASK}: {found['tasks'][0]['remarks'][0]}"]
    assert main.execute([*words.split(), "--drop-no-ops", "--keep-no-ops", "--out", "no"]) == 2


def test_ratios_are_copied_on_request(cups: Path, tmp_path: Path) -> None:
    words = f"segment {cups} --layout libero --boundaries ratio"
    stages = segmented(words, tmp_path / "s.json")[TASK]
    ratios = [phase.start_ratio for phase in stages.phases[1:]]
    for one in stages.episodes:
        expected = by_ratio(ratios, num_frames=one.num_frames, min_phase_frames=1)
        assert list(one.boundaries) == expected
    assert [one.boundaries[0] for one in stages.episodes] != GRASPS


@pytest.mark.parametrize(("rule", "share"), [("per-demo", "100 %"), ("ratio", "0 %")])
def test_table_json_file_and_picture_say_what_placed_each_boundary(
    rule: str, share: str, cups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"segment {cups} --layout libero --boundaries {rule} --plot {tmp_path}"
    stages = segmented(words, tmp_path / "s.json")[TASK]
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith(TASK))
    assert f" {len(stages.phases)}  {share.rjust(9)}  approach" in row
    segmented(f"{words} --json", tmp_path / "s.json")
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    placed = [one for episode in stages.episodes[1:] for one in episode.sources]
    source = "event" if rule == "per-demo" else "ratio"
    assert set(placed) == {source}
    assert task["carried_boundaries"] == {"event": 0, "ratio": 0, source: len(placed)}
    drawn = (tmp_path / f"{TASK}.svg").read_text()
    # One dashed line explains the sign; the rest are boundaries.
    assert drawn.count('stroke-dasharray="1.5 1.5"') == 1 + placed.count("ratio")
    assert f"by {'an event' if rule == 'per-demo' else 'the ratio'}" in drawn


def test_one_demonstration_alone_carries_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write_grasps(tmp_path / "one.hdf5", paces=((40, 20, 40),), images=False)
    segmented(f"segment {one} --layout libero", tmp_path / "s.json")
    shown = capsys.readouterr().out
    assert "–  approach" in shown
    assert "by events:" not in shown


def test_json_is_all_there_is_on_standard_output(
    cups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segmented(f"segment {cups} --layout libero --json", tmp_path / "s.json")
    found = json.loads(capsys.readouterr().out)
    assert found["file"] == str(tmp_path / "s.json")
    assert (found["num_flagged"], found["spending"]) == (0, None)
    (task,) = found["tasks"]
    assert (task["task"], task["num_demos"], task["representative"]) == (TASK, 3, 0)
    assert task["phases"][0]["end_ratio"] == pytest.approx(0.4)


def test_a_folder_of_files_gives_one_task_each(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("one", "two"):
        write_grasps(folder / f"{name}.hdf5", name=name, images=False)
    assert list(segmented(f"segment {folder} --layout libero", tmp_path / "s.json")) == [
        "one",
        "two",
    ]


def test_a_lerobot_dataset_needs_its_dimensions_and_then_is_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_v2(tmp_path / "set", [20, 30], version="v2.1", video=True)
    out = tmp_path / "s.json"
    assert main.execute(["segment", str(tmp_path / "set"), "--out", str(out)]) == 2
    assert "give --layout, one of aloha" in capsys.readouterr().err
    stages = segmented(f"segment {tmp_path / 'set'} --motion 0-2 --absolute --plot {tmp_path}", out)
    assert sum(len(one.episodes) for one in stages.values()) == 2


@pytest.mark.parametrize(("way", "name"), [("rising", "grasp"), ("falling", "push")])
def test_which_way_the_gripper_closes_is_said_not_guessed(
    way: str, name: str, cups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"segment {cups} --motion 0-5 --gripper 6"
    assert main.execute([*words.split(), "--out", str(tmp_path / "no.json")]) == 2
    assert "--gripper-closes rising or falling" in capsys.readouterr().err
    stages = segmented(f"{words} --gripper-closes {way}", tmp_path / "s.json")[TASK]
    assert stages.names[1] == name


def test_a_metaworld_task_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def recorded(suite: MetaWorld, task: object, split: str) -> list[object]:
        return [scripted_demo(pace, index=k) for k, pace in enumerate(PACES)]

    def record(cache: Path, task: object, settings: object, each: Callable[[], None]) -> None:
        for _ in range(30):
            each()

    monkeypatch.setattr(MetaWorld, "demos", recorded)
    monkeypatch.setattr("phaser.suites.metaworld.suite.ensure_recorded", record)
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hammer").mkdir()
    stages = segmented("segment hammer reach", tmp_path / "s.json")
    assert list(stages) == ["hammer", "reach"]
    assert stages["hammer"].instruction == "hit the nail with the hammer"
    said = capsys.readouterr().err
    assert "note: 'hammer' is the simulated task; write ./hammer" in said
    assert "hammer: its scripted expert is recorded first (30 demonstrations)" in said


def test_the_picture_shows_signal_candidates_phases_and_frames(cups: Path, tmp_path: Path) -> None:
    words = f"segment {cups} --layout libero --plot {tmp_path / 'plots'}"
    stages = segmented(words, tmp_path / "s.json")[TASK]
    svg = "{http://www.w3.org/2000/svg}"
    root = ElementTree.parse(tmp_path / "plots" / f"{TASK}.svg").getroot()
    assert root.tag == f"{svg}svg"
    texts = " ".join("".join(one.itertext()) for one in root.iter(f"{svg}text"))
    tips = " ".join("".join(one.itertext()) for one in root.iter(f"{svg}title"))
    assert all(name in texts for name in stages.names)
    assert "step 40, b = " in tips
    assert "gripper closes" in tips
    assert all(f"demonstration {k}: grasp from {step}" in tips for k, step in enumerate(GRASPS))
    pictures = [one.get("href") or "" for one in root.iter(f"{svg}image")]
    assert len(pictures) > len(stages.names)
    assert all(one.startswith("data:image/png;base64,") for one in pictures)


def test_demonstrations_without_a_camera_are_drawn_too(tmp_path: Path) -> None:
    cups = write_grasps(tmp_path / "cups.hdf5", images=False)
    segmented(f"segment {cups} --layout libero --plot {tmp_path / 'plots'}", tmp_path / "s.json")
    drawn = (tmp_path / "plots" / f"{TASK}.svg").read_text()
    assert "no camera in these demonstrations" in drawn
    assert "<image" not in drawn


def test_hostile_names_reach_neither_the_terminal_nor_another_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cups = write_grasps(tmp_path / "c.hdf5", name="x\x1b[2J", words="<script>\x07 ../../up")
    words = f"segment {cups} --layout libero --plot {tmp_path / 'plots'}"
    segmented(words, tmp_path / "s.json")
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    (picture,) = (tmp_path / "plots").iterdir()
    assert picture.name == "x-2J.svg"
    assert "<script" not in picture.read_text()
    ElementTree.parse(picture)


def test_file_names_differ_whatever_the_tasks_are_called() -> None:
    names = file_names(["a b", "a/b", "A-B", "...", "", "../x", "é" * 300])
    assert len({name.lower() for name in names}) == len(names)
    assert all("/" not in name and not name.startswith(".") for name in names)


@pytest.mark.parametrize(
    "program",
    [
        "main.execute(['segment', {cups!r}, '--layout', 'libero', '--out', {out!r}])",
        "from phaser.suites.simulated_sources import named, simulated_tasks; "
        "simulated_tasks(named(['reach']))",
    ],
)
def test_segmenting_imports_neither_torch_nor_what_it_does_not_use(
    program: str, cups: Path, tmp_path: Path
) -> None:
    heavy = ("torch", "mujoco", "metaworld", "openai", "av", "tyro", "accelerate")
    words = program.format(cups=str(cups), out=str(tmp_path / "s.json"))
    text = (
        f"import sys; from phaser.cli import main; {words}\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE, "PHASER_CACHE": str(tmp_path / "cache")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_annotation_made_by_people_is_not_overwritten(
    cups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "s.json"
    segmented(f"segment {cups} --layout libero", out)
    segmented(f"segment {cups} --layout libero", out)
    by_hand = out.read_text().replace("auto-pc-signal", "human")
    out.write_text(by_hand)
    capsys.readouterr()
    assert main.execute(["segment", str(cups), "--layout", "libero", "--out", str(out)]) == 2
    assert "which was not made here; choose another --out" in capsys.readouterr().err
    assert out.read_text() == by_hand


def test_a_broken_demonstration_is_named_and_nothing_is_written(
    cups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with h5py.File(cups, "a") as file:
        file["data/demo_1/actions"][3, 0] = np.nan
    out = tmp_path / "s.json"
    assert main.execute(["segment", str(cups), "--layout", "libero", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "demonstration 1 of 'put_the_cup_on_the_shelf' holds NaN" in said
    assert said.count("\n") == 1
    assert not out.exists()
