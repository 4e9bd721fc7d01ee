"""Recording: written once, reused while it fits, refused or renewed when the pixels changed."""

from __future__ import annotations

import errno
import json
import threading
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from phaser.core.errors import BadInput, BrokenFile, CannotWrite
from phaser.suites import recorder
from phaser.suites.metaworld.env import MetaWorldEnv
from phaser.suites.metaworld.expert_stages import kept_stages, staged_demos
from phaser.suites.metaworld.recorded_stages import read_stages
from phaser.suites.metaworld.recording import MetaWorldRecording, record_episode
from phaser.suites.metaworld.seeds import SEEDS
from phaser.suites.metaworld.suite import MetaWorld
from phaser.suites.metaworld.tasks import task_named
from phaser.suites.recorder import ensure_recorded, is_current

TINY = MetaWorldRecording(num_train=2, num_heldout=1)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> MetaWorld:
    cache = tmp_path_factory.mktemp("cache")
    made = MetaWorld(task_list=("reach",), recording=TINY, cache=cache)
    counted: list[int] = []
    ensure_recorded(cache, made.tasks()[0], TINY, lambda: counted.append(1))
    assert len(counted) == TINY.num_train + TINY.num_heldout
    return made


def sidecar_of(suite: MetaWorld, split: str = "train") -> Path:
    return suite.recording.folder(suite.cache, suite.tasks()[0], split) / "meta/phaser.json"


def test_demonstrations_start_where_the_simulator_starts_and_look_alike(suite: MetaWorld) -> None:
    task = suite.tasks()[0]
    train, heldout = suite.demos(task, "train"), suite.demos(task, "heldout")
    assert (len(train), len(heldout)) == (2, 1)
    observation = suite.make_env(task).reset(1000)
    for name, image in observation.images.items():
        assert np.array_equal(train[0].cameras[name].read([0])[0], image)
    assert np.array_equal(train[0].states[0], observation.state)
    assert not np.array_equal(train[0].actions[0], heldout[0].actions[0])
    assert np.abs(train[0].actions).max() <= 1.0
    assert train[0].layout.motion == (0, 1, 2)


def test_a_second_call_reuses_the_recordings(suite: MetaWorld) -> None:
    before = [sidecar_of(suite, split).stat().st_mtime_ns for split in ("train", "heldout")]
    ensure_recorded(suite.cache, suite.tasks()[0], TINY)
    after = [sidecar_of(suite, split).stat().st_mtime_ns for split in ("train", "heldout")]
    assert after == before


def test_other_settings_are_recorded_beside_not_over(suite: MetaWorld) -> None:
    task = suite.tasks()[0]
    noiseless = MetaWorldRecording(num_train=2, num_heldout=1, noise=0.0)
    folders = [one.folder(suite.cache, task, "train") for one in (TINY, noiseless)]
    assert folders[0] != folders[1]
    assert is_current(folders[0], task, "train", TINY)
    assert not is_current(folders[0], task, "train", noiseless)
    assert not is_current(folders[1], task, "train", noiseless)


def test_the_stages_of_the_expert_lie_beside_the_recording_and_no_demonstration_holds_them(
    suite: MetaWorld,
) -> None:
    task = suite.tasks()[0]
    kept = read_stages(suite.recording.folder(suite.cache, task, "train"))
    assert kept is not None
    demos = suite.demos(task, "train")
    assert [len(stages) for stages in kept] == [demo.num_frames for demo in demos]
    again = staged_demos(task, SEEDS["train"], count=2, recording=TINY)
    assert kept == tuple(one.stages for one in again)
    assert {field.name for field in fields(demos[0])} == {
        *("task", "index", "actions", "states", "layout", "cameras", "instruction")
    }


def test_an_older_recording_gets_its_stages_without_a_change_to_its_frames(
    suite: MetaWorld,
) -> None:
    task = suite.tasks()[0]
    path = suite.recording.folder(suite.cache, task, "train") / "meta/expert_stages.json"
    written, images = path.read_bytes(), suite.images_sha256(task, "train")
    path.unlink()
    ensure_recorded(suite.cache, task, TINY)
    assert not path.exists()
    kept = kept_stages(suite.cache, task, "train", TINY)
    assert path.read_bytes() == written
    assert kept == kept_stages(suite.cache, task, "train", TINY)
    assert suite.images_sha256(task, "train") == images


def test_stages_that_do_not_fit_their_recording_are_refused(
    suite: MetaWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = suite.tasks()[0]
    path = suite.recording.folder(suite.cache, task, "heldout") / "meta/expert_stages.json"
    written = path.read_text()
    path.write_text(written.replace('"start": 0', '"start": 1'))
    with pytest.raises(BrokenFile, match=r"expert_stages\.json.*delete it"):
        kept_stages(suite.cache, task, "heldout", TINY)
    path.unlink()
    # Layouts of the other split: the expert acts otherwise there.
    monkeypatch.setitem(SEEDS, "heldout", SEEDS["train"])
    with pytest.raises(BadInput, match="not what the expert does here"):
        kept_stages(suite.cache, task, "heldout", TINY)
    path.write_text(written)


def test_the_step_limit_exceeds_the_longest_demonstration(suite: MetaWorld) -> None:
    task = suite.tasks()[0]
    longest = max(demo.num_frames for demo in suite.demos(task, "train"))
    assert longest + 20 <= suite.horizon(task) <= 200


def test_a_recording_with_other_pixels_is_refused_for_evaluation_and_renewed_for_training(
    suite: MetaWorld,
) -> None:
    path = sidecar_of(suite, "train")
    images = path.parents[1] / "data/chunk-000/file-000.parquet"
    original, pixels = path.read_text(), images.read_bytes()
    changed = json.loads(original)
    changed["recording"]["frame_sha256"] = "0" * 64
    path.write_text(json.dumps(changed))
    with pytest.raises(BadInput, match="draws another reference frame"):
        suite.make_env(suite.tasks()[0])
    ensure_recorded(suite.cache, suite.tasks()[0], TINY)
    assert json.loads(path.read_text()) == json.loads(original)
    assert images.read_bytes() == pixels
    leftovers = [part.name for part in path.parents[2].iterdir() if part.name.startswith(".")]
    assert leftovers == []


def test_a_damaged_sidecar_is_named(suite: MetaWorld) -> None:
    path = sidecar_of(suite, "heldout")
    original = path.read_text()
    path.write_text(original[:-20])
    with pytest.raises(BrokenFile, match=r"phaser\.json"):
        suite.demos(suite.tasks()[0], "heldout")
    path.write_text(original)


def test_who_comes_while_a_task_is_recorded_waits_and_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[Path] = []

    def record_slowly(recording: MetaWorldRecording, folder: Path, *arguments: object) -> None:
        time.sleep(0.1)
        recorded.append(folder)

    monkeypatch.setattr(MetaWorldRecording, "record", record_slowly)
    monkeypatch.setattr(recorder, "is_current", lambda folder, *arguments: folder in recorded)
    job = (tmp_path, task_named("reach"), TINY)
    callers = [threading.Thread(target=ensure_recorded, args=job) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert recorded == [TINY.folder(tmp_path, job[1], split) for split in ("train", "heldout")]


def test_noise_moves_the_arm_but_never_the_labels_of_the_gripper() -> None:
    env = MetaWorldEnv(task_named("reach"))
    clean = record_episode(env, 1000, MetaWorldRecording(noise=0.0))
    noisy = record_episode(env, 1000, MetaWorldRecording(noise=0.3))
    assert clean is not None
    assert noisy is not None
    assert np.array_equal(clean[0].actions[0], noisy[0].actions[0])
    assert not np.array_equal(clean[0].states[1], noisy[0].states[1])


def test_an_expert_that_fails_leaves_no_demonstration_and_no_folder(tmp_path: Path) -> None:
    hopeless = MetaWorldRecording(num_train=1, num_heldout=1, max_steps=3, tries_per_demo=2)
    suite = MetaWorld(task_list=("reach",), recording=hopeless, cache=tmp_path)
    with pytest.raises(BadInput, match="solved 0 of 2"):
        suite.demos(suite.tasks()[0], "train")
    assert not list(tmp_path.rglob("info.json"))


def test_a_read_only_cache_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    suite = MetaWorld(task_list=("reach",), recording=TINY, cache=tmp_path / "cache")
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(CannotWrite, match="choose another folder"):
        suite.demos(suite.tasks()[0], "train")
