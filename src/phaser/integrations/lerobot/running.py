"""Runs a stream: one task per process image, so that each begins as a resumed command would.

LeRobot's script ends with its group of processes destroyed and its libraries full of state. So the
process is replaced by a fresh one for the next task; its number stays, and so does its launcher.
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from phaser.core.errors import BadInput
from phaser.core.locks import exclusive
from phaser.core.processes import is_first_process, num_processes
from phaser.integrations.lerobot.checkpoints import set_aside
from phaser.integrations.lerobot.plan import Step, next_step
from phaser.integrations.lerobot.progress import Progress
from phaser.integrations.lerobot.settings import Rehearsal
from phaser.integrations.lerobot.sources import Source
from phaser.integrations.lerobot.words import RESUME

LOCK = ".training"
WAIT_S = 60.0


@dataclass(kw_only=True, slots=True, eq=False)
class Stream:
    """One command: datasets in order, one policy, one memory."""

    settings: Rehearsal
    sources: Sequence[Source]
    theirs: Sequence[str]
    """LeRobot's flags."""
    output: Path
    resume: bool
    _port: int = field(default=0, init=False)

    def learn_next(self) -> bool:
        """Learn the next dataset; true where there is another one after it."""
        learnt = Progress(self.settings.folder).learnt()
        step = next_step(self.sources, self.theirs, learnt, output=self.output, resume=self.resume)
        if step is None:
            return False
        _make_room(step)
        with _alone(self.settings.folder):
            self._train(step)
        return step.index + 1 < len(self.sources)

    def go_on(self, words: Sequence[str]) -> NoReturn:
        """Replace this process by a fresh one that learns the next dataset."""
        if self._port:
            # The launcher's own store still holds the addresses of the group that has ended.
            os.environ["TORCHELASTIC_USE_AGENT_STORE"] = str(False)
            os.environ["MASTER_PORT"] = str(self._port)
        again = [sys.executable, "-m", "phaser.cli", "lerobot-train", *words, f"{RESUME}=true"]
        _end_everything()
        os.execv(sys.executable, again)

    def _train(self, step: Step) -> None:
        from phaser.integrations.lerobot.script import train
        from phaser.integrations.lerobot.task_run import TaskRun

        run = TaskRun(settings=self.settings, name=step.source.name, finished=self._agree)
        train(step.flags, run.hooks)

    def _agree(self) -> None:
        """Choose the port at which the processes meet again for the next dataset."""
        if num_processes() > 1:
            from phaser.replay.tensors import from_first_process

            self._port = from_first_process(_free_port() if is_first_process() else 0)


def train_one(settings: Rehearsal, flags: Sequence[str], *, name: str | None) -> None:
    """One run of LeRobot's script, for one dataset."""
    from phaser.integrations.lerobot.script import train
    from phaser.integrations.lerobot.task_run import TaskRun

    with _alone(settings.folder):
        train(flags, TaskRun(settings=settings, name=name).hooks)


def leave() -> None:
    """End a process of several without freeing what its group has left, which may never end."""
    if num_processes() > 1:
        _end_everything()
        os._exit(0)


def _end_everything() -> None:
    """What is done at the end of a process, such as closing a log and ending loader workers."""
    gc.collect()
    for child in multiprocessing.active_children():
        child.terminate()
        child.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()


def _alone(folder: Path) -> AbstractContextManager[None]:
    """The right to train with a memory; a killed run's loader workers may hold it for seconds."""
    if not is_first_process():
        return nullcontext()
    from phaser.replay.columns import say

    return exclusive(
        Progress(folder).folder / LOCK, what="the stream in", wait_s=WAIT_S, waiting=say
    )


def _make_room(step: Step) -> None:
    """Rename an output folder without a checkpoint, of a run that was killed early."""
    if step.resumes or step.output is None:
        return
    if is_first_process():
        if step.output.exists():
            set_aside(step.output)
        return
    until = time.monotonic() + WAIT_S
    while step.output.exists():
        if time.monotonic() > until:
            raise BadInput(f"{step.output} is in the way; move it")
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("", 0))
        return int(found.getsockname()[1])
