"""Any datasets in a row are a suite: tasks, splits, contract; all that a run needs without them."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_datasets import INSTRUCTIONS, write_robomimic, write_v3
from made_sources import frame_number, write_hdf5

from phaser.core.errors import BadInput
from phaser.demos import content_hash
from phaser.demos.hdf5 import Hdf5Images
from phaser.experiments.run import Run, run_from, settings_of
from phaser.suites.datasets.suite import Datasets
from phaser.testing.suite import check_suite

METAWORLD = {"layout": "metaworld"}


def suite_of(*paths: Path, cache: Path, **settings: object) -> Datasets:
    return Datasets(sources=paths, cache=cache, **(METAWORLD | settings))


@pytest.fixture
def suite(sources, tmp_path):
    return suite_of(*sources, cache=tmp_path / "cache")


def test_sources_in_order_are_tasks_and_several_instructions_several_of_them(suite):
    assert [task.instruction for task in suite.tasks()] == [
        "put the mug on the plate",
        *INSTRUCTIONS,
    ]
    assert [task.name for task in suite.tasks()] == [
        "put_the_mug_on_the_plate",
        "pull-the-drawer-open",
        "push-the-drawer-shut",
    ]
    assert suite.in_order("reverse").tasks() == tuple(reversed(suite.tasks()))
    assert not suite.has_simulator


def test_the_suite_keeps_the_promises_of_its_port(suite):
    check_suite(suite)


def test_names_are_made_unique_and_fit_into_the_name_of_a_file(tmp_path):
    words = 'put "it" / there: now'
    for name in ("a.hdf5", "b.hdf5"):
        write_hdf5(tmp_path / name, bddl="", instruction=words)
    suite = suite_of(tmp_path / "a.hdf5", tmp_path / "b.hdf5", cache=tmp_path)
    assert [task.name for task in suite.tasks()] == ["put-it-there-now", "put-it-there-now-2"]
    assert [task.instruction for task in suite.tasks()] == [words, words]


def test_a_folder_of_files_stands_for_its_files_and_v3_videos_are_read(tmp_path):
    (tmp_path / "files").mkdir()
    for name in ("b", "a"):
        write_hdf5(tmp_path / "files" / f"{name}.hdf5", bddl=name, instruction=f"do {name}")
    write_v3(tmp_path / "drawer", [20, 22, 24, 21])
    suite = suite_of(tmp_path / "files", tmp_path / "drawer", cache=tmp_path)
    assert [task.name for task in suite.tasks()][:2] == ["a", "b"]
    assert suite.demos(suite.tasks()[2], "train")[0].cameras["front"].read([0]).shape[1:3] == (
        64,
        64,
    )


def test_an_instruction_that_is_given_takes_the_place_of_the_files_own(sources, tmp_path):
    mug, _ = sources
    given = suite_of(mug, cache=tmp_path, instructions=("lift it",))
    assert given.tasks()[0].instruction == "lift it"
    write_hdf5(tmp_path / "mute.hdf5", instruction="", bddl="")
    with pytest.raises(BadInput, match="give the instruction"):
        suite_of(tmp_path / "mute.hdf5", cache=tmp_path)
    mute = suite_of(tmp_path / "mute.hdf5", cache=tmp_path, instructions=("lift it",))
    assert (mute.tasks()[0].name, len(mute.demos(mute.tasks()[0], "train"))) == ("lift-it", 3)


def test_a_file_that_names_an_instruction_per_demonstration_is_several_tasks(tmp_path):
    words = ("open it", "shut it", "open it", "shut it")
    write_hdf5(tmp_path / "kitchen.hdf5", instruction="", bddl="", spoken=words)
    suite = suite_of(tmp_path / "kitchen.hdf5", cache=tmp_path)
    assert [task.instruction for task in suite.tasks()] == ["open it", "shut it"]
    shut = suite.tasks()[1]
    both = [demo.index for split in ("train", "heldout") for demo in suite.demos(shut, split)]
    assert sorted(both) == [1, 3]


def test_the_statistics_are_those_of_the_training_demonstrations_of_all_sources(suite):
    demos = [demo for task in suite.tasks() for demo in suite.demos(task, "train")]
    actions = np.concatenate([demo.actions for demo in demos])
    states = np.concatenate([demo.states for demo in demos])
    contract = suite.contract
    assert contract.action_statistics is not None
    np.testing.assert_allclose(contract.action_statistics.mean, actions.mean(0), atol=1e-6)
    np.testing.assert_allclose(contract.action_statistics.max, actions.max(0), atol=1e-6)
    np.testing.assert_allclose(contract.state_centre, states.mean(0), atol=1e-6)
    np.testing.assert_allclose(contract.state_scale, states.std(0), atol=1e-5)
    assert contract.layout == demos[0].layout
    assert contract.cameras == ("front",)


def test_a_number_that_never_changes_is_divided_by_one(tmp_path):
    import h5py

    write_hdf5(tmp_path / "still.hdf5")
    with h5py.File(tmp_path / "still.hdf5", "a") as file:
        for demo in file["data"].values():
            demo["obs/gripper_states"][:] = 0.1
    suite = suite_of(tmp_path / "still.hdf5", cache=tmp_path)
    statistics = suite.contract.state_statistics
    assert statistics is not None
    assert statistics.std[3] < 1e-6
    assert suite.contract.state_scale[3] == 1.0
    assert min(suite.contract.state_scale) > 0


@pytest.mark.parametrize("joints", ["before", "after"])
def test_a_file_tells_by_the_arms_joints_when_its_frames_were_seen(joints, tmp_path):
    """Against its author's custom: what is measured counts more."""
    bddl = "" if joints == "after" else "named"
    write_hdf5(tmp_path / "a.hdf5", bddl=bddl, joints=joints)
    suite = suite_of(tmp_path / "a.hdf5", cache=tmp_path)
    assert suite.found is not None
    assert suite.found.tasks[0].after_action == (joints == "after")


def test_a_frame_that_was_seen_after_its_action_goes_with_the_next_one(tmp_path):
    write_hdf5(tmp_path / "libero.hdf5", lengths=(6, 5))
    stored = suite_of(tmp_path / "libero.hdf5", cache=tmp_path, observed="before")
    paired = suite_of(tmp_path / "libero.hdf5", cache=tmp_path)
    (was,) = stored.demos(stored.tasks()[0], "train")
    (now,) = paired.demos(paired.tasks()[0], "train")
    assert (was.num_frames, now.num_frames) == (6, 5)
    np.testing.assert_array_equal(now.actions, was.actions[1:])
    np.testing.assert_array_equal(now.states, was.states[:-1])
    shown = now.cameras["front"].read(range(5))
    assert [frame_number(one) for one in shown] == [0, 1, 2, 3, 4]


def test_robomimics_frames_are_left_as_they_are(tmp_path):
    write_robomimic(tmp_path / "square.hdf5")
    suite = Datasets(
        sources=(tmp_path / "square.hdf5",), layout="robosuite", cache=tmp_path, heldout_share=0.5
    )
    (demo,) = suite.demos(suite.tasks()[0], "train")
    assert (suite.tasks()[0].name, demo.num_frames) == ("NutAssemblySquare", 3)


def test_images_are_resized_and_turned_as_asked(tmp_path):
    write_hdf5(tmp_path / "a.hdf5", convention="opengl")
    settings = {"image_size": (32, 48), "turns": ("flip-vertical",)}
    suite = suite_of(tmp_path / "a.hdf5", cache=tmp_path, **settings)
    pixels = suite.demos(suite.tasks()[0], "train")[0].cameras["front"].read([3])
    assert pixels.shape == (1, 32, 48, 3)
    assert frame_number(pixels[0]) == 3
    assert pixels[0, -1, 0, 0] > pixels[0, 0, 0, 0]
    assert suite.contract.image_size == (32, 48)
    assert suite.contract.orientation == "upright"
    as_stored = suite_of(tmp_path / "a.hdf5", cache=tmp_path)
    assert as_stored.contract.orientation == "opengl"
    assert suite.images_sha256(suite.tasks()[0], "train") != as_stored.images_sha256(
        as_stored.tasks()[0], "train"
    )


def test_idle_frames_are_left_out_on_request(tmp_path):
    import h5py

    write_hdf5(tmp_path / "a.hdf5", bddl="")
    with h5py.File(tmp_path / "a.hdf5", "a") as file:
        for demo in file["data"].values():
            demo["actions"][5:9, :3] = 0.0
            demo["actions"][4:9, 3] = 1.0
    all_of_it, moving = (
        suite_of(tmp_path / "a.hdf5", cache=tmp_path, drop_no_ops=drop) for drop in (False, True)
    )
    task = all_of_it.tasks()[0]
    lengths = [
        [demo.num_frames for demo in one.demos(task, "train")] for one in (all_of_it, moving)
    ]
    assert [long - short for long, short in zip(*lengths, strict=True)] == [4, 4, 4]


def test_the_hash_is_that_of_the_content_and_large_files_are_read_once(
    sources, tmp_path, monkeypatch
):
    suite = suite_of(*sources, cache=tmp_path / "cache")
    read: list[Path] = []
    original = content_hash.sha256
    monkeypatch.setattr(content_hash, "sha256", lambda path: read.append(path) or original(path))
    task = suite.tasks()[0]
    first = suite.images_sha256(task, "train")
    assert suite.images_sha256(task, "train") == first
    assert suite.images_sha256(task, "heldout") != first
    assert read == [sources[0]]
    write_hdf5(sources[0], lengths=(20, 23, 21, 25))
    again = suite_of(*sources, cache=tmp_path / "cache")
    assert again.images_sha256(task, "train") != first


def test_making_a_run_reads_one_frame_per_task_and_camera(sources, tmp_path, monkeypatch):
    asked: list[int] = []
    original = Hdf5Images.read

    def read(self, frames):
        asked.append(len(frames))
        return original(self, frames)

    monkeypatch.setattr(Hdf5Images, "read", read)
    suite_of(sources[0], cache=tmp_path)
    assert asked == [1]


def test_a_run_knows_its_tasks_and_contract_when_the_sources_are_gone(sources, suite, tmp_path):
    run = Run(preset="datasets", suite=suite)
    written = json.loads(json.dumps(settings_of(run)))
    shutil.rmtree(sources[1])
    sources[0].unlink()
    back = run_from(written, source="run.json")
    assert back.suite.tasks() == suite.tasks()
    assert back.suite.contract == suite.contract
    assert back.suite.missing() == list(suite.tasks())
    assert settings_of(back) == settings_of(run)
    with pytest.raises(BadInput, match=r"mug\.hdf5, the source of task .* is gone; restore it"):
        back.suite.demos(suite.tasks()[0], "train")


def test_other_settings_are_looked_up_again_and_the_order_is_not(suite, monkeypatch):
    from phaser.suites.datasets import suite as module

    looked: list[object] = []
    original = module.find_sources
    monkeypatch.setattr(module, "find_sources", lambda asked: looked.append(1) or original(asked))
    assert replace(suite, order="reverse").found == suite.found
    assert not looked
    assert replace(suite, heldout_share=0.5).found != suite.found
    assert len(looked) == 1


def test_relative_sources_are_found_from_any_folder(sources, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suite = suite_of(Path("mug.hdf5"), cache=tmp_path)
    monkeypatch.chdir("/")
    assert suite.missing() == []


def test_a_source_that_lost_a_demonstration_is_refused(sources, suite, tmp_path):
    write_hdf5(sources[0], lengths=(20, 23))
    with pytest.raises(BadInput, match=r"held 4 demonstrations .* and now 2"):
        suite.demos(suite.tasks()[0], "train")
