"""Recording: written once, reused while it fits, refused or renewed when the pixels changed."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pytest

from phaser.core.errors import BadInput, BrokenFile, CannotWrite
from phaser.suites.metaworld import MetaWorld
from phaser.suites.metaworld_env import MetaWorldEnv
from phaser.suites.metaworld_tasks import task_named
from phaser.suites.recorder import missing
from phaser.suites.recording import Recording, record_episode

TINY = Recording(num_train=2, num_heldout=1)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> MetaWorld:
    cache = tmp_path_factory.mktemp("cache")
    made = MetaWorld(task_list=("reach",), recording=TINY, cache=cache, num_workers=1)
    made.prepare()
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
    before = sidecar_of(suite).stat().st_mtime_ns
    calls: list[tuple[int, int, str]] = []
    suite.prepare(progress=lambda *call: calls.append(call))
    assert calls == []
    assert sidecar_of(suite).stat().st_mtime_ns == before


def test_other_settings_are_recorded_beside_not_over(suite: MetaWorld) -> None:
    task = suite.tasks()[0]
    noiseless = Recording(num_train=2, num_heldout=1, noise=0.0)
    assert missing(suite.cache, [task], TINY) == []
    assert len(missing(suite.cache, [task], noiseless)) == 2
    assert noiseless.folder(suite.cache, task, "train") != sidecar_of(suite).parents[1]


def test_the_step_limit_exceeds_the_longest_demonstration(suite: MetaWorld) -> None:
    task = suite.tasks()[0]
    longest = max(demo.num_frames for demo in suite.demos(task, "train"))
    assert longest + 20 <= suite.horizon(task) <= 200


def test_a_recording_with_other_pixels_is_refused_for_evaluation_and_renewed_for_training(
    suite: MetaWorld,
) -> None:
    path = sidecar_of(suite, "train")
    original = path.read_text()
    changed = json.loads(original)
    changed["recording"]["frame_sha256"] = "0" * 64
    path.write_text(json.dumps(changed))
    with pytest.raises(BadInput, match="draws another reference frame"):
        suite.make_env(suite.tasks()[0])
    calls: list[tuple[int, int, str]] = []
    suite.prepare(progress=lambda *call: calls.append(call))
    assert calls == [(1, 1, "reach")]
    assert json.loads(path.read_text()) == json.loads(original)
    leftovers = [part.name for part in path.parents[2].iterdir() if part.name.startswith(".")]
    assert leftovers == []


def test_a_damaged_sidecar_is_named(suite: MetaWorld) -> None:
    path = sidecar_of(suite, "heldout")
    original = path.read_text()
    path.write_text(original[:-20])
    with pytest.raises(BrokenFile, match=r"phaser\.json"):
        suite.demos(suite.tasks()[0], "heldout")
    path.write_text(original)


def test_workers_record_the_same_bytes_as_this_process(suite: MetaWorld, tmp_path: Path) -> None:
    parallel = MetaWorld(task_list=("reach",), recording=TINY, cache=tmp_path, num_workers=2)
    calls: list[tuple[int, int, str]] = []
    parallel.prepare(progress=lambda *call: calls.append(call))
    assert sorted(calls) == [(1, 2, "reach"), (2, 2, "reach")]
    relative = "data/chunk-000/file-000.parquet"
    for split in ("train", "heldout"):
        files = [sidecar_of(one, split).parents[1] / relative for one in (suite, parallel)]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_noise_moves_the_arm_but_never_the_labels_of_the_gripper() -> None:
    env = MetaWorldEnv(task_named("reach"))
    clean = record_episode(env, 1000, Recording(noise=0.0))
    noisy = record_episode(env, 1000, Recording(noise=0.3))
    assert clean is not None
    assert noisy is not None
    assert np.array_equal(clean.actions[0], noisy.actions[0])
    assert not np.array_equal(clean.states[1], noisy.states[1])


def test_an_expert_that_fails_leaves_no_demonstration_and_no_folder(tmp_path: Path) -> None:
    hopeless = Recording(num_train=1, num_heldout=1, max_steps=3, tries_per_demo=2)
    suite = MetaWorld(task_list=("reach",), recording=hopeless, cache=tmp_path, num_workers=1)
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
        suite.prepare()
