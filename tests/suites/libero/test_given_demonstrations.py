"""LIBERO learns from published HDF5 files, seen as the protocol says, and is tried as before."""

import json
import shlex

import numpy as np
import pytest
from published_files import write_made_up, write_played

from phaser.cli import main
from phaser.core.errors import BadInput
from phaser.demos.hdf5_conventions import observed_after_action
from phaser.experiments.run import Run, run_from, settings_of
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.protocol import PROTOCOLS, changed
from phaser.suites.libero.published import demonstration_name
from phaser.suites.libero.simulator import Simulator
from phaser.suites.libero.suite import Libero
from phaser.suites.libero.tasks import task_named

STOVE, PLATE = "turn_on_the_stove", "put_the_bowl_on_the_plate"
_SPLITS = ("train", "heldout")
SMALL = changed(PROTOCOLS["phaser"], image_size=32)


def suite_in(folder, *tasks, cache, **settings):
    return Libero(
        **{
            "task_list": tasks or (STOVE,),
            "demonstrations": str(folder),
            "protocol": SMALL,
            "cache": cache,
            **settings,
        }
    )


def test_the_last_demonstrations_are_held_out_and_no_other(tmp_path):
    write_made_up(tmp_path / "files", STOVE)
    suite = suite_in(tmp_path / "files", cache=tmp_path, heldout_share=0.4)
    task = suite.tasks()[0]
    indices = {split: [one.index for one in suite.demos(task, split)] for split in _SPLITS}
    assert indices == {"train": [0, 1, 2], "heldout": [3, 4]}
    assert suite.missing() == []


@pytest.mark.parametrize(
    ("orientation", "row", "column"), [("upright", 0, 0), ("opengl", -1, 0), ("rotated", 0, -1)]
)
def test_images_stand_as_the_protocol_says(tmp_path, orientation, row, column):
    write_made_up(tmp_path / "files", STOVE)
    protocol = changed(SMALL, orientation=orientation)
    suite = suite_in(tmp_path / "files", cache=tmp_path, protocol=protocol)
    demo = suite.demos(suite.tasks()[0], "train")[0]
    assert list(demo.cameras) == ["agentview", "robot0_eye_in_hand"]
    pixels = demo.cameras["agentview"].read([4])[0]
    assert pixels[row, column, 0] == 255
    assert (pixels == 255).sum() == 16 * 3
    assert pixels[16, 16, 0] == 4


def test_frames_are_paired_with_the_action_that_answers_them(tmp_path):
    write_made_up(tmp_path / "files", STOVE, length=12)
    suite = suite_in(tmp_path / "files", cache=tmp_path)
    stored = suite_in(tmp_path / "files", cache=tmp_path, observed="before")
    now, was = (one.demos(one.tasks()[0], "train")[0] for one in (suite, stored))
    np.testing.assert_array_equal(now.actions, was.actions[1:])
    assert [int(one[16, 16, 0]) for one in now.cameras["agentview"].read([0, 10])] == [0, 10]


def test_idle_frames_go_unless_they_are_asked_for(tmp_path):
    write_made_up(tmp_path / "files", STOVE, idle=(3, 4))
    lengths = {
        drop: one.demos(one.tasks()[0], "train")[0].num_frames
        for drop in (True, False)
        for one in [suite_in(tmp_path / "files", cache=tmp_path, drop_no_ops=drop)]
    }
    assert lengths == {True: 9, False: 11}


def test_the_gripper_and_the_state_speak_the_protocols_language(tmp_path):
    write_made_up(tmp_path / "files", STOVE)
    opens = suite_in(
        tmp_path / "files", cache=tmp_path, protocol=changed(SMALL, gripper="one-opens")
    )
    demo = opens.demos(opens.tasks()[0], "train")[0]
    assert demo.actions[0, 6] == 1.0
    assert demo.actions[-1, 6] == 0.0
    joints = suite_in(tmp_path / "files", cache=tmp_path, protocol=changed(SMALL, state="joints"))
    assert joints.demos(joints.tasks()[0], "train")[0].states.shape[1] == 9
    assert len(joints.contract.state) == 9


def test_files_are_found_in_a_folder_of_their_suite_too(tmp_path, monkeypatch):
    write_made_up(tmp_path / "all" / "libero_goal", STOVE)
    write_made_up(tmp_path / "cache" / "libero" / "demonstrations" / "libero-goal", PLATE)
    suite = suite_in(tmp_path / "all", STOVE, PLATE, cache=tmp_path)
    assert [task.name for task in suite.missing()] == [PLATE]
    with pytest.raises(BadInput, match=r"put_the_bowl_on_the_plate_demo\.hdf5 does not exist"):
        suite.demos(task_named(PLATE), "train")
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "cache"))
    fetched = suite_in("published", PLATE, cache=tmp_path)
    assert fetched.missing() == []
    assert fetched.demonstrations == "published"
    assert len(fetched.demos(task_named(PLATE), "train")) == 4


def test_a_file_of_another_task_under_this_ones_name_is_refused(tmp_path):
    write_made_up(tmp_path / "files", PLATE)
    path = tmp_path / "files" / demonstration_name(PLATE)
    path.rename(path.with_name(demonstration_name(STOVE)))
    suite = suite_in(tmp_path / "files", cache=tmp_path)
    with pytest.raises(BadInput, match=f"shows '{PLATE}' by its own word; expected '{STOVE}'"):
        suite.demos(suite.tasks()[0], "train")


def test_the_contract_and_the_settings_say_where_the_pixels_are_from(tmp_path):
    write_made_up(tmp_path / "files", STOVE)
    suite = suite_in(tmp_path / "files", cache=tmp_path)
    own = suite_in(tmp_path / "files", cache=tmp_path, demonstrations=None)
    said = suite.contract.protocol["demonstrations"]
    assert "not compared with what this machine draws" in said["frames"]
    assert "demonstrations" not in own.contract.protocol
    written = json.loads(json.dumps(settings_of(Run(suite=suite))))
    assert run_from(written, source="run.json").suite.demonstrations == str(tmp_path / "files")
    task = suite.tasks()[0]
    assert suite.images_sha256(task, "train") != suite.images_sha256(task, "heldout")


@pytest.mark.usefixtures("needs_libero")
def test_what_the_suite_reads_is_what_the_simulator_showed_before_each_action(tmp_path):
    """The joints beside the simulator's states tell that frames were seen after their action."""
    task = task_named(STOVE)
    protocol = changed(SMALL, image_size=64)
    simulator = Simulator(task, protocol, assets=assets_folder("libero-goal"))
    before = write_played(tmp_path / "files", STOVE, simulator)
    assert observed_after_action(tmp_path / "files" / demonstration_name(STOVE))
    suite = suite_in(tmp_path / "files", cache=tmp_path, protocol=protocol, drop_no_ops=False)
    demos = [demo for split in _SPLITS for demo in suite.demos(task, split)]
    assert [demo.index for demo in demos] == [0, 1, 2]
    for demo in demos:
        commands, states, images = zip(*before[demo.index][1:], strict=True)
        np.testing.assert_allclose(demo.actions, commands, atol=1e-12)
        np.testing.assert_allclose(demo.states, states, atol=1e-9)
        for name, shown in demo.cameras.items():
            seen = shown.read(range(demo.num_frames))
            np.testing.assert_array_equal(seen, [one[name] for one in images])


@pytest.mark.slow
@pytest.mark.usefixtures("needs_libero")
def test_a_run_learns_from_files_and_is_tried_in_the_simulator(tmp_path, capsys):
    simulator = Simulator(task_named(STOVE), SMALL, assets=assets_folder("libero-goal"))
    for name in (STOVE, PLATE):
        write_played(tmp_path / "files", name, simulator)
    flags = (
        f"--suite.task-list {STOVE} {PLATE} --suite.demonstrations {tmp_path / 'files'} "
        "--suite.protocol.image-size 32 --suite.protocol.name small --budget 6 --workers 1 "
        "--simulators 1 --policy.width 16 --policy.channels 4 --fit.steps-per-task 4 "
        "--fit.batch-size 8 --evaluation.rollouts-per-task 1 --evaluation.learnt-rollouts 1 "
        "--suite.protocol.step-limits libero-goal 12"
    )
    out = tmp_path / "run"
    assert main.execute(shlex.split(f"run libero-goal {flags} --out {out} --json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["measure"] == "success"
    assert shown["methods"][0]["asr"]["trials"] == 2


def test_the_ranges_of_all_training_demonstrations_are_stated_when_asked_for(tmp_path):
    for name in (STOVE, PLATE):
        write_made_up(tmp_path / "files", name)
    suite = suite_in(tmp_path / "files", STOVE, PLATE, cache=tmp_path, statistics=True)
    demos = [demo for task in suite.tasks() for demo in suite.demos(task, "train")]
    rows = np.concatenate([demo.actions for demo in demos])
    found = suite.contract.action_statistics
    np.testing.assert_allclose(found.q99, np.quantile(rows, 0.99, axis=0), rtol=1e-5, atol=1e-6)
    assert len(suite.contract.state_statistics.mean) == len(suite.contract.state)
    assert suite.in_order("reverse").contract.action_statistics == found
    assert suite_in(tmp_path / "files", cache=tmp_path).contract.action_statistics is None
    with pytest.raises(BadInput, match="statistics are of published files"):
        Libero(statistics=True)
