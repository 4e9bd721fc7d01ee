"""What a user's own program and a user's own disk can do to a memory, and what stays of it."""

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from made_samples import learn, numpy_dataset, replay_in

from phaser.cli.main import main
from phaser.core import files
from phaser.core.errors import BadInput, BrokenFile
from phaser.memory.budget import Budget
from phaser.memory.shard import Shard
from phaser.memory.store import Store

NUM_TASKS = 12


def contents(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_a_missing_manifest_erases_nothing_and_can_be_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = tmp_path / "memory"
    learn(replay_in(tmp_path), "lift the cup", "drop the cup", "turn the cup")
    before = Store.open(memory)
    refs = [ref for bucket in before.memory.buckets for ref in bucket.frames]
    (memory / "manifest.json").unlink()
    left = contents(memory)
    with pytest.raises(BadInput, match=r"no manifest\.json, but 3 shards .*phaser memory repair"):
        learn(replay_in(tmp_path), "push the cup")
    assert contents(memory) == left
    with pytest.raises(SystemExit) as ended:
        main(["memory", "repair", str(memory)])
    assert not ended.value.code
    assert "3" in capsys.readouterr().out
    learn(replay_in(tmp_path), "push the cup")
    after = Store.open(memory)
    after.verify()
    assert replay_in(tmp_path).stored[:3] == ("lift-the-cup", "drop-the-cup", "turn-the-cup")
    assert [one["frame_index"] for one in after.read(refs)] == [ref.frame for ref in refs]
    assert after.tasks[0].instruction == "lift the cup"
    now = contents(memory)
    assert {name: now[name] for name in left} == left


def test_repair_names_the_shards_that_do_not_verify(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = tmp_path / "memory"
    learn(replay_in(tmp_path), "lift the cup", "drop the cup")
    damaged = sorted((memory / "tasks").iterdir())[0]
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    (memory / "manifest.json").unlink()
    with pytest.raises(SystemExit):
        main(["memory", "repair", str(memory)])
    assert damaged.name in "".join(capsys.readouterr())
    assert replay_in(tmp_path).stored == ("drop-the-cup",)
    assert damaged.read_bytes() == content


def _keep_tasks(folder: Path, who: str) -> None:
    for number in range(NUM_TASKS):
        learn(replay_in(folder), f"{who} {number}")


def test_two_jobs_on_one_memory_wait_for_each_other(tmp_path: Path) -> None:
    learn(replay_in(tmp_path), "first")
    context = multiprocessing.get_context("fork")
    jobs = [context.Process(target=_keep_tasks, args=(tmp_path, who)) for who in ("lift", "drop")]
    for job in jobs:
        job.start()
    seen = 0
    while any(job.is_alive() for job in jobs):
        # A reader sees the old state or the new one, whole.
        store = Store.open(tmp_path / "memory")
        refs = [ref for bucket in store.memory.buckets for ref in bucket.frames]
        assert len(store.read(refs)) == store.num_frames == 8 * len(store.tasks)
        assert len(store.tasks) >= seen
        seen = len(store.tasks)
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0, 0]
    assert len(replay_in(tmp_path).stored) == 1 + 2 * NUM_TASKS
    Store.open(tmp_path / "memory").verify()


def test_a_kill_at_any_stage_leaves_nothing_that_verify_calls_changed(tmp_path: Path) -> None:
    learn(replay_in(tmp_path), "lift the cup")
    for killed_at in range(20):
        child = os.fork()
        if child == 0:
            left = iter(range(killed_at, -1, -1))
            files.reached = lambda stage, path, left=left: next(left) == 0 and os._exit(9)
            learn(replay_in(tmp_path), f"drop {killed_at}")
            os._exit(0)
        Store.open(tmp_path / "memory").verify()
        if os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 0:
            break
        store = Store.open(tmp_path / "memory")
        store.verify()
        total = store.certificate()["total_frames"]
        assert total == store.num_frames == 8 * len(store.tasks)
    assert killed_at >= 10


def test_a_tasks_begin_and_end_open_no_shard_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    original = Shard.open.__func__  # type: ignore[attr-defined]

    def counting(cls: type[Shard], path: Path, task: object) -> Shard:
        opened.append(path.name)
        return original(cls, path, task)

    for number in range(40):
        learn(replay_in(tmp_path), f"task {number}")
    monkeypatch.setattr(Shard, "open", classmethod(counting))
    for number in range(40, 45):
        opened.clear()
        learn(replay_in(tmp_path), f"task {number}")
        assert len(set(opened)) <= 1, "only the shard that the task before left"
    store = Store.open(tmp_path / "memory")
    assert store.manifest.segments, "forty tasks are more than a manifest lists itself"


def test_opening_reads_no_list_of_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        learn(replay_in(tmp_path), f"task {number}")
    monkeypatch.setattr("phaser.memory.manifest.read_segments", None)
    assert Store.open(tmp_path / "memory").num_frames == 40 * 8


def test_damaged_frames_are_not_copied_when_a_task_gives_way(tmp_path: Path) -> None:
    replay = replay_in(tmp_path, budget=Budget.total(12))
    learn(replay, "lift the cup")
    (shard,) = (tmp_path / "memory" / "tasks").iterdir()
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)
    task = replay.task(numpy_dataset(), instruction="drop the cup")
    with pytest.raises(BrokenFile, match="was changed after it was written"):
        task.finish()
    assert shard.read_bytes() == content
    assert replay.stored == ("lift-the-cup",)


def test_forgetting_reaches_the_shard_of_a_writer_that_was_killed(tmp_path: Path) -> None:
    replay = replay_in(tmp_path, budget=Budget.total(12), codec="raw")
    learn(replay, "lift the cup")
    child = os.fork()
    if child == 0:
        # Killed when both shards are written, the new task's and what stays of the old one.
        def end(stage: str, path: Path) -> None:
            if "manifest" in path.name:
                os._exit(9)

        files.reached = end
        learn(replay, "drop the cup")
    os.waitpid(child, 0)
    store = Store.open(tmp_path / "memory", writing=True)
    assert len(store.leftovers()) == 2
    store.forget(task="lift-the-cup")
    (left,) = Store.open(tmp_path / "memory").leftovers()
    assert "drop-the-cup" in left


def test_what_gives_way_stays_readable_while_a_task_rehearses_from_it(tmp_path: Path) -> None:
    def begin() -> Any:
        replay = replay_in(tmp_path, budget=Budget.total(24), read_ahead=False)
        return replay.task(numpy_dataset(), instruction="turn the cup")

    learn(replay_in(tmp_path, budget=Budget.total(24)), "lift the cup", "drop the cup")
    alone = [[one["frame_index"] for one in begin().sample(6)] for _ in range(4)]
    task = begin()
    # Another job keeps a task, for which both stored ones have to give way, twice.
    for instruction in ("push the cup", "pull the cup"):
        learn(replay_in(tmp_path, budget=Budget.total(24)), instruction)
        Store.open(tmp_path / "memory").verify()
    assert Store.open(tmp_path / "memory").manifest.removed
    assert [one["frame_index"] for one in task.sample(6)] == alone[0]
    task.finish()
    assert Store.open(tmp_path / "memory").num_frames == 24
    assert Store.open(tmp_path / "memory").leftovers() == []
