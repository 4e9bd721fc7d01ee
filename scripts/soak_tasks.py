"""The tasks of a soak: every sample is known from a task's name; and processes that keep them."""

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import phaser.core.files as files
from phaser import ActionLayout, Columns, Replay
from phaser.core.errors import NotKept
from phaser.memory.budget import Budget

TOTAL_FRAMES = 240
EPISODES = (12, 15)
MARK_BYTES = 16


class Demos:
    """Two short demonstrations whose every sample is known from the task's name."""

    layout = ActionLayout(motion=(0, 1, 2), gripper=(3,))

    def __init__(self, name: str) -> None:
        self.mark = mark_of(name)
        rng = np.random.default_rng(list(self.mark))
        self.rows = [(episode, frame) for episode, n in enumerate(EPISODES) for frame in range(n)]
        self.ways = rng.normal(size=(2, 3)) * 0.5

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> dict[str, Any]:
        episode, frame = self.rows[row]
        late = frame >= EPISODES[episode] // 2
        action = np.array([*self.ways[int(late)], 1.0 if late else -1.0], np.float32)
        mark = np.frombuffer(self.mark, np.uint8).copy()
        return {
            "episode_index": episode,
            "frame_index": frame,
            "action": action,
            "observation.state": np.float32([episode, frame]),
            "mark": mark,
        }


def mark_of(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()[:MARK_BYTES]


def replay_in(folder: Path) -> Replay:
    return Replay(
        folder,
        budget=Budget.total(TOTAL_FRAMES),
        codec="raw",
        language=lambda text: np.frombuffer(mark_of(text), np.uint8).astype(float),
        columns=Columns(images=()),
    )


def learn(folder: Path, name: str) -> None:
    with replay_in(folder).task(Demos(name), instruction=f"do {name}", name=name) as task:
        task.sample(4)


def learn_on_a_full_disk(folder: Path, name: str, fails_at: int) -> None:
    """The write fails somewhere; what was chosen is kept later, without training again."""
    left = iter(range(fails_at, -1, -1))

    def full(stage: str, path: Path) -> None:
        if next(left, None) == 0 and stage in ("made", "written", "synced"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    task = replay_in(folder).task(Demos(name), instruction=f"do {name}", name=name)
    files.reached = full
    try:
        with task:
            pass
    except NotKept:
        files.reached = lambda stage, path: None
        task.finish()


def in_a_child(work: Callable[[Callable[[str], None]], None]) -> tuple[int, int]:
    """Fork a process that tells what it finished; its id, and where to read."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(lambda line: os.write(writing, f"{line}\n".encode()) and None)
            os._exit(0)
        except BaseException as error:
            os.write(writing, f"! {type(error).__name__}: {error}\n".encode())
            os._exit(1)
    os.close(writing)
    return child, reading
