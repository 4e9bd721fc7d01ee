"""Forgetting a task or an episode: the rest stays as it was, and the bytes are nowhere left."""

import os
from pathlib import Path

import numpy as np
import pytest
from stored_memories import assert_same, contents, made_memory, new_task, refs_of, sample_of

from phaser.core.errors import BadInput, BrokenFile, UnknownName
from phaser.memory import store_files
from phaser.memory.codecs import ImageCodec
from phaser.memory.shard_writer import REF_BYTES
from phaser.memory.store import Store


def traces(task: str, demo: int, frame: int, codec: str) -> list[bytes]:
    """Bytes that only this frame has: a state, an encoded picture, a sentence."""
    from phaser.core.demonstration import FrameRef

    sample = sample_of(FrameRef(task, demo, frame))
    picture = ImageCodec.parse(codec).encode(sample["observation.image"])
    return [sample["state"].tobytes(), picture, sample["chunk"][0].tobytes()]


@pytest.mark.parametrize("codec", ["png", "jpeg:90"])
def test_a_forgotten_episode_is_in_no_file_of_the_folder(tmp_path: Path, codec: str) -> None:
    folder = tmp_path / "memory"
    store = made_memory(folder, codec=codec)
    gone = [ref for ref in refs_of(store) if (ref.task, ref.demo) == ("lift", 2)]
    kept = [ref for ref in refs_of(store) if ref not in gone]
    assert gone
    for ref in gone:
        for trace in traces(ref.task, ref.demo, ref.frame, codec):
            assert any(trace in content for content in contents(folder).values())
    before = store.read(kept)
    told = store.forget(task="lift", episode=2)
    for ref in gone:
        for trace in traces(ref.task, ref.demo, ref.frame, codec):
            assert not any(trace in content for content in contents(folder).values())
    assert refs_of(told.store) == kept
    for one, other in zip(before, told.store.read(kept), strict=True):
        assert_same(one, other)
    told.store.verify()
    assert told.num_frames == len(gone)
    assert sorted(contents(folder)) == sorted(told.store.files())


def test_the_old_bytes_are_overwritten_not_just_unnamed(tmp_path: Path) -> None:
    store = made_memory(tmp_path / "memory")
    entry = store.tasks[0]
    os.link(tmp_path / "memory/tasks" / entry.shard, tmp_path / "witness")
    told = store.forget(task="lift")
    assert (tmp_path / "witness").read_bytes() == bytes(entry.num_bytes)
    assert (told.removed, told.num_bytes, told.sha256) == (
        entry.shard,
        entry.num_bytes,
        entry.sha256,
    )
    assert told.written is None
    assert [task.name for task in told.store.tasks] == ["push"]
    told.store.verify()


def test_the_certificate_tells_what_was_forgotten(tmp_path: Path) -> None:
    told = made_memory(tmp_path / "memory").forget(task="lift", episode=2)
    rows = told.store.certificate()["frames_per_phase"]
    lift = [row for row in rows if row["task"] == "lift"]
    assert sum(row.get("forgotten", 0) for row in lift) == told.num_frames
    sizes = told.store.shard("lift")
    assert sum(row["bytes"] for row in lift) == REF_BYTES * len(refs_of(told.store)[:-12]) + sum(
        int(leaf.row_bytes(np.arange(sizes.task.num_frames)).sum()) for leaf in sizes.leaves
    )
    for row in lift:
        expected = row["share"] - row["shortfall"] + row["redistributed"]
        assert row["frames"] == expected - row.get("forgotten", 0)


def test_phases_and_tasks_without_frames_go_with_their_prototypes(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "memory", about={})
    store = store.add(new_task("lift", frames=3), ImageCodec())
    kept = {bucket.phase.index: bucket for bucket in store.memory.buckets}
    first = store.memory.buckets[0].frames[0].demo
    only = [index for index, one in kept.items() if all(ref.demo == first for ref in one.frames)]
    after = store.forget(task="lift", episode=first).store
    assert only
    assert [one.phase.index for one in after.memory.buckets] == [k for k in kept if k not in only]
    for bucket in after.memory.buckets:
        before = kept[bucket.phase.index].prototype.vision
        assert np.array_equal(bucket.prototype.vision, np.array(before))
    for demo in sorted({ref.demo for ref in refs_of(after)}):
        after = after.forget(task="lift", episode=demo).store
    assert after.tasks == ()
    assert contents(tmp_path / "memory").keys() == {"manifest.json"}


def test_a_task_or_episode_that_is_not_there_is_refused(tmp_path: Path) -> None:
    store = made_memory(tmp_path / "memory")
    before = contents(tmp_path / "memory")
    with pytest.raises(UnknownName, match="did you mean lift"):
        store.forget(task="lyft")
    with pytest.raises(BadInput, match="no frame of episode 9; it has episodes 0, 1"):
        store.forget(task="lift", episode=9)
    assert contents(tmp_path / "memory") == before


def test_a_view_from_before_refuses_rather_than_reading_zeros(tmp_path: Path) -> None:
    store = made_memory(tmp_path / "memory", codec="raw")
    refs = refs_of(store)
    store.read(refs[:1])
    Store.open(tmp_path / "memory").forget(task="lift", episode=refs[0].demo)
    with pytest.raises(BrokenFile, match="open it again"):
        store.read(refs[:1])


def test_forgetting_that_was_cut_off_is_finished_by_the_next_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "memory"
    store = made_memory(folder)
    entry = store.tasks[0]
    os.link(folder / "tasks" / entry.shard, tmp_path / "witness")

    def cut_off(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store_files, "erase", cut_off)
        with pytest.raises(KeyboardInterrupt):
            store.forget(task="lift")
    assert [task.name for task in Store.open(folder).tasks] == ["push"]
    Store.open(folder, writing=True).verify()
    assert (tmp_path / "witness").read_bytes() == bytes(entry.num_bytes)


def test_a_damaged_shard_is_not_rewritten_as_a_whole_one(tmp_path: Path) -> None:
    store = made_memory(tmp_path / "memory")
    path = tmp_path / "memory/tasks" / store.tasks[0].shard
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(BrokenFile, match="changed after it was written"):
        store.forget(task="lift", episode=0)
