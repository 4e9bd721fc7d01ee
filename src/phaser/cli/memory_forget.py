"""`phaser memory forget DIR --task NAME [--episode N]`: frames go, and their bytes with them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from phaser.cli.arguments import Parser
from phaser.cli.memory_verify import check_files
from phaser.cli.output import print_json
from phaser.cli.text_table import counted, file_size, printable
from phaser.core.errors import BadInput, BrokenFile, UnknownName
from phaser.memory.store import Forgotten, Store
from phaser.memory.stored_task import StoredTask

EPILOG = """\
The file that held the frames is overwritten with zeros, synced and removed; of a task that keeps
other episodes a new file without them is written first. Out of reach are copies elsewhere
(backups, snapshots, the spare blocks of a flash drive) and policies that were trained on the
frames. A phase's prototype, a mean over all its demonstrations, goes with the task, not with one
episode.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Going:
    """What will be forgotten."""

    task: StoredTask
    episode: int | None
    num_frames: int

    def __str__(self) -> str:
        what = "all" if self.episode is None else f"episode {self.episode}"
        return (
            f"{printable(self.task.name)}: {what}, {self.num_frames} of {self.task.num_frames} "
            f"frames, in {self.task.shard} ({file_size(self.task.num_bytes)})"
        )


def execute(arguments: Sequence[str]) -> int:
    parser = Parser(
        "memory forget",
        "Remove a task, or one episode of it, so that no file of the memory holds its bytes.",
        epilog=EPILOG,
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the memory's folder")
    parser.add_argument("--task", required=True, metavar="NAME", help="as `memory show` names it")
    parser.add_argument("--episode", type=int, metavar="N", help="only this episode of the task")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = parser.parse(arguments)
    store = Store.open(chosen.folder)
    going = _going(store, chosen.task, chosen.episode)
    if not chosen.yes:
        _ask(going)
    elif not chosen.json:
        print(f"forgetting {going}", flush=True)
    forgotten = store.forget(task=chosen.task, episode=chosen.episode)
    files = _proof(forgotten)
    if chosen.json:
        print_json(_as_json(forgotten, files))
    else:
        print("\n".join(_lines(forgotten, files)), flush=True)
    return 0


def _going(store: Store, name: str, episode: int | None) -> _Going:
    found = [task for task in store.tasks if task.name == name]
    if not found:
        raise UnknownName("task of this memory", name, [task.name for task in store.tasks])
    (task,) = found
    if episode is None:
        return _Going(task=task, episode=None, num_frames=task.num_frames)
    episodes = [ref.demo for bucket in store.shard(name).buckets() for ref in bucket.frames]
    if episode not in episodes:
        known = sorted(set(episodes))
        shown = ", ".join(map(str, known[:20])) + (", …" if len(known) > 20 else "")
        raise BadInput(f"task {name!r} keeps no frame of episode {episode}; it keeps {shown}")
    return _Going(task=task, episode=episode, num_frames=episodes.count(episode))


def _ask(going: _Going) -> None:
    """On a terminal only: without one, nobody could answer."""
    if not sys.stdin.isatty():
        raise BadInput(f"would forget {going}; nobody can be asked here, so say --yes to do it")
    print(f"will forget {going}\nThis cannot be undone.", file=sys.stderr)
    print("Forget it? [yes/no] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() != "yes":
        raise BadInput("nothing was forgotten: the answer was not yes")


def _proof(forgotten: Forgotten) -> list[str]:
    """Every file that is left, after each of its bytes was read and compared."""
    if left := list(forgotten.store.path.rglob(forgotten.removed)):
        raise BrokenFile(f"{left[0]} is still there; end what holds it, then remove it")
    found = check_files(forgotten.store)
    broken = [complaint for complaint in found.values() if complaint]
    if broken:
        raise BrokenFile(f"forgotten, but the rest is not as it was written: {broken[0]}")
    return list(found)


def _lines(forgotten: Forgotten, files: Sequence[str]) -> list[str]:
    lines = [
        f"forgotten: {counted(forgotten.num_frames, 'frame')}",
        f"overwritten with zeros and removed: {forgotten.removed} ({forgotten.num_bytes} bytes)",
    ]
    if forgotten.written is not None:
        lines.append(f"the task's other episodes are in {forgotten.written}")
    left = forgotten.store
    return [
        *lines,
        f"left: {counted(len(left.tasks), 'task')}, {counted(left.num_frames, 'frame')}, "
        f"{file_size(left.num_bytes)}; all {len(files)} files were read, all are as written",
    ]


def _as_json(forgotten: Forgotten, files: Sequence[str]) -> dict[str, object]:
    return {
        "task": forgotten.task,
        "episode": forgotten.episode,
        "num_frames": forgotten.num_frames,
        "overwritten_and_removed": {
            "file": forgotten.removed,
            "num_bytes": forgotten.num_bytes,
            "sha256": forgotten.sha256,
        },
        "written": forgotten.written,
        "verified": list(files),
        "left": {
            "num_tasks": len(forgotten.store.tasks),
            "num_frames": forgotten.store.num_frames,
            "num_bytes": forgotten.store.num_bytes,
        },
    }
