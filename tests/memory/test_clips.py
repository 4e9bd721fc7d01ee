"""Images stored as short H.264 clips: neighbours share bytes, a frame is always the same."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_memories import contents, new_task
from synthetic import prepared_task

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput, BrokenFile, MissingDependency
from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.memory.clips import CLIP_FRAMES, in_clips
from phaser.memory.codecs import ImageCodec
from phaser.memory.materialising import materialise
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.sample import NewTask
from phaser.memory.sizes import kept_sizes
from phaser.memory.store import Addition, Store

pytest.importorskip("av", reason="needs PyAV: pip install 'phaser-vla[video]'")

CLIPS = ImageCodec.parse("h264:90")
SIDES = (64, 48)


def pixels_of(ref: FrameRef) -> np.ndarray:
    """A block that moves over a textured table, which is another one in every episode."""
    table = np.random.default_rng(ref.demo).integers(60, 120, (32, 24, 3), dtype=np.uint8)
    image = np.kron(table, np.ones((2, 2, 1), np.uint8))
    at = 2 + ref.frame % 30
    image[10:20, at : at + 8] = (220, 40, 30)
    return image


def sample_of(ref: FrameRef) -> Any:
    pixels = pixels_of(ref)
    return {"wrist": pixels, "front": pixels[::-1].astype(np.float32) / 255, "step": ref.frame}


def task_of(name: str = "lift", *, frames: int = 60) -> NewTask:
    return replace(new_task(name, frames=frames), sample_of=sample_of)


def refs_of(store: Store) -> list[FrameRef]:
    return [ref for bucket in store.memory.buckets for ref in bucket.frames]


def decibels(one: np.ndarray, other: np.ndarray) -> float:
    error = np.mean((one.astype(float) - other) ** 2)
    return float(10 * np.log10(255**2 / max(error, 1e-9)))


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(one[key], other[key]) for key in one)


def test_clips_are_of_one_episode_and_end_with_what_gives_way_first() -> None:
    buckets = task_of().buckets
    ranks = {ref: rank for one in buckets for ref, rank in zip(one.frames, one.ranks, strict=True)}
    clips = in_clips(buckets)
    assert sorted(ref for clip in clips for ref in clip) == sorted(ranks)
    assert max(map(len, clips)) == CLIP_FRAMES
    for clip in clips:
        assert len({ref.demo for ref in clip}) == 1
        assert [ranks[ref] for ref in clip] == sorted(ranks[ref] for ref in clip)


def test_images_come_back_close_and_everything_else_exactly(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "memory", about={}).add(task_of(), CLIPS)
    for ref, found in zip(refs := refs_of(store), store.read(refs), strict=True):
        assert found["step"] == ref.frame
        assert decibels(found["wrist"], pixels_of(ref)) > 35
        assert found["front"].dtype == np.float32
        assert decibels(255 * found["front"], pixels_of(ref)[::-1]) > 35
    store.verify()
    assert len({found["wrist"].tobytes() for found in store.read(refs)}) > 20


def test_neighbours_share_bytes(tmp_path: Path) -> None:
    clips = Store.create(tmp_path / "clips", about={}).add(task_of(), CLIPS)
    alone = sum(Store.encoded_size(sample_of(ref), CLIPS) for ref in refs_of(clips))
    assert clips.certificate()["total_bytes"] < alone / 2


def test_a_frame_is_the_same_in_whatever_order_and_company_it_is_read(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "memory", about={}).add(task_of(), CLIPS)
    refs = refs_of(store)
    together = dict(zip(refs, store.read(refs), strict=True))
    for ref in [*refs[::-1], *refs[::7]]:
        (found,) = Store.open(tmp_path / "memory").read([ref])
        assert same(found, together[ref])


def test_the_same_task_gives_the_same_bytes(tmp_path: Path) -> None:
    stores = [Store.create(tmp_path / name, about={}).add(task_of(), CLIPS) for name in "ab"]
    one, other = (store.tasks[0].sha256 for store in stores)
    assert one == other


def test_frames_that_give_way_leave_the_others_as_they_were(tmp_path: Path) -> None:
    """Older tasks shrink in a total budget; what stays is decoded to the same pixels."""
    budget, rule = Budget.total_bytes(60_000), PhaseBuckets()
    store = Store.create(tmp_path / "memory", about={})
    before: dict[FrameRef, Any] = {}
    for number in range(5):
        task = prepared_task(f"task-{number}", num_demos=3, seed=number)
        name = task.task.name

        def plan(now: Store, task: Any = task, name: str = name) -> Addition:
            sizes = kept_sizes(name, sample_of, CLIPS, store=lambda: now)
            stream = Streams(0).named("keep", name)
            kept = budget.keep(rule, task, now.memory, stream=stream, sizes=sizes)
            stays = kept.memory.by_task()
            new = NewTask(task=task.task, buckets=kept.buckets, sample_of=sample_of, source={})
            return Addition(new=new, shrunk={name: stays[name] for name in kept.evicted})

        store = store.add_planned(plan, CLIPS)
        store.verify()
        held = store.certificate()
        assert held["total_bytes"] <= budget.amount
        assert held["total_bytes"] == sum(store.frame_bytes(refs_of(store)).values())
        for ref, sample in zip(refs := refs_of(store), store.read(refs), strict=True):
            assert same(sample, before.setdefault(ref, sample))
    assert any(row.get("evicted") for row in held["frames_per_phase"])
    assert len(before) > len(refs)


def test_a_budget_in_bytes_holds_more_frames_in_clips_than_alone() -> None:
    task = prepared_task(num_demos=3)
    found = {}
    for codec in (CLIPS, ImageCodec.parse("webp-lossless")):
        sizes = kept_sizes("lift", sample_of, codec, store=lambda: pytest.fail("no store"))
        kept = Budget.bytes_per_task(40_000).keep(
            PhaseBuckets(), task, stream=Streams(0).named("keep"), sizes=sizes
        )
        assert sizes.total(kept.buckets) <= 40_000
        found[codec.name] = kept.memory.num_frames
    assert found["h264"] > 1.5 * found["webp-lossless"]


def test_the_bytes_of_a_budget_are_those_in_the_shard(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "memory", about={}).add(task_of(), CLIPS)
    sizes = kept_sizes("lift", sample_of, CLIPS, store=lambda: store)
    assert sizes.total(task_of().buckets) == store.certificate()["total_bytes"]


def test_a_forgotten_episode_is_in_no_file_and_the_others_are_as_they_were(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "memory", about={}).add(task_of(), CLIPS)
    episode = refs_of(store)[0].demo
    before = dict(zip(refs := refs_of(store), store.read(refs), strict=True))
    shard = store.shard("lift")
    rows = np.flatnonzero(shard.file.arrays["demo"] == episode)
    packets = [shard.leaves[0].content(row) for row in rows.tolist()]
    now = store.forget(task="lift", episode=episode).store
    now.verify()
    assert {ref.demo for ref in refs_of(now)} == {ref.demo for ref in refs} - {episode}
    for ref, sample in zip(refs := refs_of(now), now.read(refs), strict=True):
        assert same(sample, before[ref])
    files = b"".join(contents(tmp_path / "memory").values())
    assert packets
    assert not any(packet in files for packet in packets)


def test_frames_can_be_written_again_as_clips(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "memory", about={}).add(task_of(), ImageCodec())
    now = materialise(store, store.tasks[0], lambda ref, row: sample_of(ref), CLIPS)
    now.verify()
    assert now.tasks[0].codec == CLIPS
    assert now.num_bytes < store.num_bytes


@pytest.mark.parametrize("shape", [(33, 17, 3), (16, 16, 1), (3, 20, 30), (2, 3, 20, 31)])
def test_odd_sides_grey_images_and_stacked_frames_are_stored(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    images = {
        ref: np.linspace(0, 255, int(np.prod(shape))).reshape(shape).astype(np.uint8) + ref.frame
        for ref in refs_of(Store.create(tmp_path / "plain", about={}).add(task_of(), ImageCodec()))
    }
    store = Store.create(tmp_path / "memory", about={}).add(
        replace(task_of(), sample_of=lambda ref: images[ref].astype(np.uint8)),
        ImageCodec.parse("h264:100"),
    )
    for ref, found in zip(refs := refs_of(store), store.read(refs), strict=True):
        assert found.shape == shape
        assert decibels(found, images[ref]) > 25


def test_a_frame_that_is_no_image_ends_a_clip_and_is_kept_as_it_is(tmp_path: Path) -> None:
    def is_odd(ref: FrameRef) -> bool:
        return ref.demo == 1 and ref.frame % 4 == 2

    def mixed(ref: FrameRef) -> Any:
        odd = np.full((*SIDES, 3), 0.3, np.float32)
        return odd if is_odd(ref) else pixels_of(ref).astype(np.float32) / 255

    store = Store.create(tmp_path / "memory", about={}).add(
        replace(task_of(), sample_of=mixed), CLIPS
    )
    store.verify()
    for ref, found in zip(refs := refs_of(store), store.read(refs), strict=True):
        if is_odd(ref):
            assert np.array_equal(found, mixed(ref))
        else:
            assert decibels(255 * found, 255 * mixed(ref)) > 30
    (leaf,) = store.shard("lift").leaves
    assert leaf.coded is not None
    assert 0 < leaf.coded.sum() < len(refs)


def test_samples_without_images_and_a_missing_library_are_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = replace(task_of(), sample_of=lambda ref: {"state": np.zeros(3)})
    with pytest.raises(BadInput, match="'lift': the codec h264:90 makes clips of images"):
        Store.check_storable(plain, CLIPS)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingDependency, match=r"needs PyAV; run: pip install 'phaser-vla\[video"):
        Store.check_storable(task_of(), CLIPS)
    with pytest.raises(MissingDependency, match="the codec h264:90 needs PyAV"):
        CLIPS.check_supported()


def test_a_damaged_clip_is_refused_before_it_is_believed(tmp_path: Path) -> None:
    content = CLIPS.encode(pixels_of(FrameRef("lift", 0, 0)))
    shape = (*SIDES, 3)
    assert CLIPS.decode(content, shape, "frame 0").shape == shape
    for broken, wrong_shape in (
        (content[:-1], shape),
        (content + b"\0\0\0\0", shape),
        (content * (CLIP_FRAMES + 1), shape),
        (content[4:], shape),
        (content[:4] + bytes(len(content) - 4), shape),
        (content, (64, 64, 3)),
        (content, (16, 16, 3)),
        (b"", shape),
    ):
        with pytest.raises(BrokenFile, match="frame 0"):
            CLIPS.decode(broken, wrong_shape, "frame 0")


def test_a_clip_that_follows_itself_or_nothing_is_refused(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "memory", about={}).add(task_of(), CLIPS)
    leaf = store.shard("lift").leaves[0]
    assert leaf.after is not None
    rows = len(leaf.after)
    for hostile in (np.zeros(rows), np.full(rows, rows), np.full(rows, -2)):
        wrong = replace(leaf, after=hostile.astype(np.int32))
        with pytest.raises(BrokenFile, match="in a clip that cannot be"):
            wrong.read(0)
