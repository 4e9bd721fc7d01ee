"""The memory benchmark compares like with like: the same frames in every system, in turns."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import memory
from benchmarks.interleaved import Ratio, seconds_per_call
from benchmarks.memory_contents import POOL, Layout, tiny
from benchmarks.memory_systems import BATCH, DecodedLists, PhaserStore, TorchRLMemmap
from benchmarks.memory_tables import markdown

LAYOUT = Layout(num_frames=120, num_phases=10)


@pytest.mark.parametrize(
    ("frames", "phases", "tasks"),
    [(120, 10, 2), (10_000, 100, 20), (100_000, 1_000, 200), (1_000_000, 100_000, 20)],
)
def test_a_layout_deals_all_frames_out_to_tasks_and_phases(frames, phases, tasks):
    layout = Layout(num_frames=frames, num_phases=phases)
    assert layout.num_tasks == tasks
    assert layout.num_tasks * layout.frames_per_task == frames
    assert layout.num_tasks * layout.phases_per_task == phases


def test_every_frame_of_a_layout_has_a_number_of_its_own():
    refs = [
        ref for _, buckets in LAYOUT.tasks(tiny()) for bucket in buckets for ref in bucket.frames
    ]
    assert [LAYOUT.number(ref) for ref in refs] == list(range(120))


def test_our_store_gives_back_the_frames_that_were_chosen(tmp_path: Path):
    content, store = tiny(), PhaserStore(tmp_path / "store", "raw")
    store.fill(LAYOUT, content)
    store.open()
    store.prepare()
    for choose in (store.choose, store.choose_uniformly):
        refs = choose(3)
        assert len(refs) == BATCH
        expected = [content.sample(LAYOUT.number(ref)) for ref in refs]
        batch = store.fetch(refs)
        assert batch.keys() == expected[0].keys()
        for key, rows in batch.items():
            assert (rows.numpy() == np.stack([sample[key] for sample in expected])).all()
    assert store.num_bytes() > 120 * sum(value.nbytes for value in content.sample(0).values())


def test_lists_hold_every_frame_as_a_copy():
    lists, content = DecodedLists(), tiny()
    lists.fill(LAYOUT, content)
    held = [sample for samples in lists.tasks.values() for sample in samples]
    assert len(held) == 120 < POOL
    assert held[7]["image"] is not content.sample(7)["image"]
    assert (held[7]["image"] == content.sample(7)["image"]).all()
    assert lists.fetch(lists.choose(0))["image"].shape == (BATCH, 8, 8, 3)


def test_torchrl_holds_the_same_frames(tmp_path: Path):
    pytest.importorskip(
        "torchrl", reason="needs TorchRL, which is installed for the benchmark only"
    )
    buffer, content = TorchRLMemmap(tmp_path), tiny()
    buffer.fill(LAYOUT, content)
    index = buffer.choose(0)
    images = buffer.fetch(index)["image"].numpy()
    expected = np.stack([content.sample(int(number))["image"] for number in index])
    assert (images == expected).all()


def test_a_size_is_measured_in_full_and_printed(monkeypatch):
    monkeypatch.setattr(memory, "_has_torchrl", lambda: False)
    row = memory.measured(tiny(), LAYOUT, rounds=2)
    assert set(row["draw"]) == {
        memory.UNIFORM,
        "phaser, routed draw",
        "lists of decoded samples",
    }
    assert row["draw"][memory.UNIFORM]["ratio"]["median"] == 1
    assert row["first_open"]["phaser, raw"]["frames"] == 120
    text = markdown([row])
    assert text.count("| 120 | 10 |") == 6


def test_pieces_of_work_take_turns_and_begin_in_turn():
    called = []
    works = {name: lambda number, name=name: called.append((name, number)) for name in "ab"}
    taken = seconds_per_call(works, rounds=2, calls=2)
    assert called[2:] == [
        *(("a", 0), ("a", 1), ("b", 0), ("b", 1)),
        *(("b", 2), ("b", 3), ("a", 2), ("a", 3)),
    ]
    assert [len(times) for times in taken.values()] == [2, 2]


def test_a_ratio_is_taken_round_by_round_so_that_load_cancels():
    load = np.random.default_rng(0).uniform(1, 50, 41)
    ratio = Ratio.of(1.5 * load, load)
    assert (ratio.low, ratio.median, ratio.high) == pytest.approx((1.5, 1.5, 1.5))
