"""A memory on disk: what goes in comes out, states never change, and only whole tasks count."""

import errno
import multiprocessing
import os
import pickle
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stored_memories import (
    ABOUT,
    assert_same,
    contents,
    made_memory,
    new_task,
    refs_of,
    sample_of,
)

from phaser.core import files
from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput, BrokenFile, CannotWrite, UnknownName
from phaser.core.frame_refs import FrameRefs
from phaser.core.locks import InUse, exclusive
from phaser.memory.certificate import certificate
from phaser.memory.codecs import ImageCodec
from phaser.memory.store import Store


@pytest.mark.parametrize("codec", ["raw", "png", "webp-lossless"])
def test_a_lossless_memory_gives_every_sample_back_to_the_last_bit(
    tmp_path: Path, codec: str
) -> None:
    made_memory(tmp_path / "memory", codec=codec)
    store = Store.open(tmp_path / "memory")
    refs = refs_of(store)
    for ref, sample in zip(refs, store.read(refs), strict=True):
        assert_same(sample_of(ref), sample)


@pytest.mark.parametrize("codec", ["jpeg:90", "webp:90"])
def test_a_lossy_memory_says_so_and_changes_pixels_only(tmp_path: Path, codec: str) -> None:
    store = made_memory(tmp_path / "memory", codec=codec)
    assert [task.codec.lossless for task in store.tasks] == [False, False]
    assert f'"name": "{codec[:4]}"' in (tmp_path / "memory/manifest.json").read_text()
    ref = refs_of(store)[0]
    (found,), expected = store.read([ref]), sample_of(ref)
    for key in ("observation.image", "observation.scaled", "views"):
        found_image, expected_image = found.pop(key), expected.pop(key)
        if key == "observation.image":
            assert found_image.shape == expected_image.shape
            assert not np.array_equal(found_image, expected_image)
    assert_same(expected, found)


def test_frames_come_in_the_order_asked_for_and_may_repeat(tmp_path: Path) -> None:
    store = made_memory(tmp_path / "memory")
    refs = refs_of(store)
    wanted = [refs[-1], refs[0], refs[-1], refs[5]]
    for ref, sample in zip(wanted, store.read(wanted), strict=True):
        assert_same(sample_of(ref), sample)
    first, *_, again = store.read([refs[0], refs[1], refs[0]])
    first["state"][:] = 0
    assert_same(sample_of(refs[0]), again)


def test_buckets_and_prototypes_come_back_bit_for_bit(tmp_path: Path) -> None:
    made_memory(tmp_path / "memory", "lift", "push")
    kept = [bucket for name in ("lift", "push") for bucket in new_task(name).buckets]
    found = Store.open(tmp_path / "memory").memory.buckets
    assert [bucket.phase for bucket in found] == [bucket.phase for bucket in kept]
    for one, other in zip(kept, found, strict=True):
        assert isinstance(other.frames, FrameRefs)
        assert other.frames == one.frames
        assert tuple(other.frames[1:]) == one.frames[1:]
        assert other.frames[-1] == one.frames[-1]
        for part in ("language", "vision", "action"):
            assert_same(getattr(one.prototype, part), np.array(getattr(other.prototype, part)))
        assert other.prototype.motion == one.prototype.motion


def test_the_manifest_and_certificate_count_what_is_there(tmp_path: Path) -> None:
    store = made_memory(tmp_path / "memory")
    assert store.about == ABOUT
    assert store.num_frames == 24
    files = contents(tmp_path / "memory")
    assert sorted(files) == sorted(store.files())
    assert store.num_bytes == sum(len(files[name]) for name in files if name.startswith("tasks/"))
    budget = store.certificate()
    assert budget == certificate(store.manifest.rows())
    assert budget["frames_per_task"] == {"lift": 12, "push": 12}
    for task in store.tasks:
        in_phases = sum(row["bytes"] for row in task.phases)
        frames = [ref for ref in refs_of(store) if ref.task == task.name]
        assert 0 < task.num_bytes - in_phases < 8000
        ragged_index = 24 * len(frames)
        sizes = sum(Store.encoded_size(sample_of(ref), task.codec) for ref in frames)
        assert in_phases == sizes + ragged_index


def test_an_older_view_stays_readable_while_tasks_come(tmp_path: Path) -> None:
    old = made_memory(tmp_path / "memory", "lift")
    new = old.add(new_task("push"), ImageCodec())
    assert [task.name for task in old.tasks] == ["lift"]
    assert [task.name for task in new.tasks] == ["lift", "push"]
    assert_same(sample_of(refs_of(old)[0]), old.read([refs_of(old)[0]])[0])
    third = old.add(new_task("reach"), ImageCodec())
    assert [task.name for task in third.tasks] == ["lift", "push", "reach"]


def test_the_same_task_is_stored_as_the_same_bytes(tmp_path: Path) -> None:
    one, other = made_memory(tmp_path / "one", "lift"), made_memory(tmp_path / "other", "lift")
    assert one.tasks[0].shard == other.tasks[0].shard
    shard = f"tasks/{one.tasks[0].shard}"
    assert contents(tmp_path / "one")[shard] == contents(tmp_path / "other")[shard]


def test_a_task_that_is_there_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    store = made_memory(tmp_path / "memory")
    before = contents(tmp_path / "memory")
    with pytest.raises(BadInput, match="already holds a task 'lift'"):
        store.add(new_task("lift"), ImageCodec())
    assert contents(tmp_path / "memory") == before


def test_frames_of_one_task_must_look_alike(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "memory", about={})
    frames = [ref for bucket in new_task().buckets for ref in bucket.frames]

    def changing(ref: FrameRef) -> dict[str, object]:
        wide = ref == frames[3]
        return {"state": np.zeros(7, np.float64 if wide else np.float32), "text": "x"}

    with pytest.raises(BadInput, match=r"differs from .* at 'state': .*float64.* instead of"):
        store.add(replace(new_task(), sample_of=changing), ImageCodec())
    assert Store.open(tmp_path / "memory").tasks == ()
    assert not list((tmp_path / "memory/tasks").iterdir())


@pytest.mark.parametrize(
    ("sample", "told"),
    [
        ({"a": {1, 2}}, "a is a builtins.set"),
        ({"a": [np.zeros(2, object)]}, r"a\[0\] is an array of type object"),
        ({"a": np.zeros(2, ">f4")}, "a is an array of type >f4"),
        ({1: 2}, "key 1"),
        (threading.Lock(), "the sample is a"),
    ],
)
def test_what_cannot_be_stored_is_named(tmp_path: Path, sample: object, told: str) -> None:
    store = Store.create(tmp_path / "memory", about={})
    with pytest.raises(BadInput, match=told):
        store.add(replace(new_task(), sample_of=lambda ref: sample), ImageCodec())


def test_a_frame_or_task_that_is_not_stored_is_refused(tmp_path: Path) -> None:
    store = made_memory(tmp_path / "memory")
    for demo, frame in ((99, 0), (0, 1 << 32), (0, -1), (-1, 0)):
        with pytest.raises(BadInput, match=f"frame {frame} of episode {demo}"):
            store.read([FrameRef("lift", demo, frame)])
    with pytest.raises(UnknownName, match="did you mean lift"):
        store.read([FrameRef("lyft", 0, 0)])


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInput, match=r"thesis\.tex"):
        Store.create(tmp_path, about={})
    with pytest.raises(BadInput, match="is a file"):
        Store.create(tmp_path / "thesis.tex", about={})
    with pytest.raises(BrokenFile, match="holds no memory"):
        Store.open(tmp_path)
    made_memory(tmp_path / "memory")
    with pytest.raises(BadInput, match="already holds a memory"):
        Store.create(tmp_path / "memory", about={})


def test_what_describes_a_memory_is_plain_json(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="plain JSON"):
        Store.create(tmp_path / "memory", about={"loss": float("nan")})
    store = Store.create(tmp_path / "memory", about={"layers": (1, 2), "by": {2: "two"}})
    assert store.about == {"layers": [1, 2], "by": {"2": "two"}}
    store.verify()


def test_one_writer_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phaser.memory.store_files.WAIT_S", 0.2)
    store = made_memory(tmp_path / "memory", "lift")
    with exclusive(tmp_path / "memory/.lock", what="the memory"), pytest.raises(InUse):
        store.add(new_task("push"), ImageCodec())
    assert_same(sample_of(refs_of(store)[0]), store.read([refs_of(store)[0]])[0])


def test_views_cross_into_threads_and_other_processes(tmp_path: Path) -> None:
    store = made_memory(tmp_path / "memory", "lift")
    refs = refs_of(store)
    again = pickle.loads(pickle.dumps(store))
    assert_same(sample_of(refs[2]), again.read([refs[2]])[0])
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda k=k: found.append((k, store.read([refs[k]])[0])))
        for k in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for position, sample in found:
        assert_same(sample_of(refs[position]), sample)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert_same(sample_of(refs[1]), pool.apply(store.read, ([refs[1]],))[0])


def test_buckets_that_contradict_their_rows_are_refused(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "memory", about={})
    new = new_task()
    wrong = [{**row, "frames": row["frames"] + 1} for row in new.phases]
    with pytest.raises(BadInput, match="do not fit its buckets"):
        store.add(replace(new, phases=wrong), ImageCodec())
    with pytest.raises(BadInput, match="leaves no frames"):
        store.add(replace(new, buckets=[], phases=()), ImageCodec())
    doubled = [new.buckets[0], replace(new.buckets[1], frames=new.buckets[0].frames)]
    with pytest.raises(BadInput, match="twice"):
        store.add(replace(new, buckets=doubled, phases=()), ImageCodec())


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("failing", ["made", "written", "synced"])
def test_a_full_or_read_only_disk_keeps_the_last_good_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, reason: int
) -> None:
    store = made_memory(tmp_path / "memory", "lift")
    before = contents(tmp_path / "memory")
    for kind in ("safetensors", "manifest"):

        def fail(stage: str, path: Path, kind: str = kind) -> None:
            if stage == failing and kind in path.name:
                raise OSError(reason, os.strerror(reason), str(path))

        with monkeypatch.context() as patch:
            patch.setattr("phaser.core.files.reached", fail)
            with pytest.raises(CannotWrite, match=os.strerror(reason)):
                store.add(new_task("push", frames=3), ImageCodec())
        opened = Store.open(tmp_path / "memory")
        assert [task.name for task in opened.tasks] == ["lift"]
        opened.verify()
    Store.open(tmp_path / "memory", writing=True)
    assert contents(tmp_path / "memory") == before


def test_a_writer_that_was_killed_leaves_a_memory_that_mends_itself(tmp_path: Path) -> None:
    """At every stage of every write, as SIGKILL would: nothing after it runs."""
    folder = tmp_path / "memory"
    made_memory(folder, "lift")
    for killed_at in range(20):
        child = os.fork()
        if child == 0:
            _add_until(folder, killed_at)
        if os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 0:
            break
        seen = Store.open(folder)
        assert [task.name for task in seen.tasks] in (["lift"], ["lift", "push"])
        whole = Store.open(folder, writing=True)
        whole.verify()
        # A shard that no manifest names is left alone: a manifest from a backup may be older.
        assert sorted(contents(folder)) == sorted([*whole.files(), *whole.leftovers()])
        if len(whole.tasks) == 2:
            whole.forget(task="push")
    assert killed_at == 2 * 5, "a shard and a manifest, five stages each"


def _add_until(folder: Path, killed_at: int) -> None:
    left = iter(range(killed_at, -1, -1))

    def end(stage: str, path: Path) -> None:
        if next(left) == 0:
            os._exit(9)

    files.reached = end
    Store.open(folder).add(new_task("push", frames=3), ImageCodec())
    os._exit(0)


def test_leftovers_are_named_and_files_of_others_stay(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    store = made_memory(folder, "lift")
    orphan = folder / "tasks/007-push-0123456789ab.safetensors"
    for path in (orphan, folder / ".manifest.json.x.tmp", folder / "tasks/notes.txt"):
        path.write_text("mine")
    assert store.leftovers() == [".manifest.json.x.tmp", f"tasks/{orphan.name}"]
    store.verify()
    Store.open(folder, writing=True)
    assert store.leftovers() == [f"tasks/{orphan.name}"]
    assert (folder / "tasks/notes.txt").read_text() == "mine"
