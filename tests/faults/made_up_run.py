"""A whole run without a simulator: made-up demonstrations, and an env whose outcome hangs on bits.

Run as a program it is a nursery of processes: everything is imported and computed once, then each
line of standard input forks one process that runs a cell and may be killed on the way.
"""

import errno
import hashlib
import json
import os
import re
import signal
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

import numpy as np
from accelerate import Accelerator

from phaser.core import files
from phaser.core.demonstration import Demo
from phaser.core.errors import PhaserError
from phaser.core.ports import Observation
from phaser.experiments import folder as run_folder
from phaser.experiments import sameness
from phaser.experiments.cell import run_cell
from phaser.experiments.run import Evaluation, Run
from phaser.methods.table import METHODS
from phaser.policies.tiny import Tiny
from phaser.suites.metaworld import MetaWorld
from phaser.suites.recording import LAYOUT
from phaser.training.fit import Fit

SIZE, CAMERAS, LENGTHS = 96, ("corner", "gripper"), (12, 5, 11)
NUM_DEMOS = {"train": 2, "heldout": 1}


class Pictures:
    """Noise that is always the same."""

    def __init__(self, seed):
        self.seed = seed

    def __len__(self):
        return sum(LENGTHS)

    def read(self, frames):
        return np.stack([picture(self.seed * 1000 + frame) for frame in frames])


def picture(seed):
    small = np.random.default_rng(seed).integers(256, size=(8, 8, 3), dtype=np.uint8)
    return small.repeat(SIZE // 8, axis=0).repeat(SIZE // 8, axis=1)


class MadeUpEnv:
    """Whether it is solved hangs on the last digits of the actions, so on every bit of weights."""

    def __init__(self, task):
        self.task = task

    def reset(self, seed):
        self._seed, self._state = seed, np.array([0.01 * (seed % 9), 0.6, 0.15, 0.5], np.float32)
        return self.observe()

    def step(self, action):
        self._state = self._state + 0.01 * np.asarray(action, np.float32)
        return hashlib.sha256(self._state.tobytes()).digest()[0] < 12

    def observe(self):
        shown = self._seed * 100 + int(abs(self._state[0]) * 1e5) % 97
        images = {name: picture(shown + k) for k, name in enumerate(CAMERAS)}
        return Observation(images=images, state=self._state, instruction=self.task.instruction)

    def close(self):
        pass


class MadeUpSuite(MetaWorld):
    """Meta-World's tasks and contract; all that needs a simulator is made up."""

    __slots__ = ()

    def demos(self, task, split):
        return tuple(made_up_demo(task, split, index) for index in range(NUM_DEMOS[split]))

    def images_sha256(self, task, split):
        changed = self.cache / f"{task.name}-changed"
        return hashlib.sha256(f"{task.name} {split} {changed.exists()}".encode()).hexdigest()

    def make_env(self, task):
        return MadeUpEnv(task)

    def horizon(self, task):
        return 24


def made_up_demo(task, split, index):
    """Approach, grasp, lift, with a little noise of its own."""
    seed = int(hashlib.sha256(f"{task.name} {split} {index}".encode()).hexdigest()[:6], 16)
    rng = np.random.default_rng(seed)
    means = ((1.0, 0.3, -1.0, -1.0), (0.0, 0.0, 0.0, 1.0), (0.2, 1.0, 1.0, 1.0))
    actions = np.concatenate([np.tile(m, (n, 1)) for m, n in zip(means, LENGTHS, strict=True)])
    actions[:, :3] += rng.normal(scale=0.1, size=(len(actions), 3))
    return Demo(
        task=task.name,
        index=index,
        actions=actions.astype(np.float32),
        states=np.cumsum(0.01 * actions, axis=0).astype(np.float32),
        layout=LAYOUT,
        cameras={name: Pictures(seed + k) for k, name in enumerate(CAMERAS)},
    )


def made_up_run(cache, method="phaser", **changes):
    run = Run(
        suite=MadeUpSuite(task_list=("reach", "push", "hammer"), cache=cache),
        policy=Tiny(train_encoder=True, width=8, channels=2, chunk_length=4),
        fit=Fit(steps_per_task=6, batch_size=6, checkpoint_every_steps=2),
        evaluation=Evaluation(rollouts_per_task=2, learnt_rollouts=1, earlier_rollouts=1),
    )
    return replace(run, **changes).with_method(method, METHODS[method].with_budget(8))


def kind_of(path, folder):
    """Files that are written by one line of code have one name."""
    name = str(path.relative_to(folder))
    name = re.sub(r"unfinished-[\d-]+", "unfinished", name)
    return re.sub(r"\d+-(reach|push|hammer|all)(-[0-9a-f]{12})?", "TASK", name)


def forget_the_commit():
    """Whoever works on the code while its tests run must not fail them."""
    run_folder.commit = sameness.commit = lambda: "made up"


def _fault(order, folder, said):
    """The hook that ends, or breaks, the process at the point that the order names."""
    passed = [tuple(one) for one in order.get("passed", [])]
    count = 0

    def reached(stage, path):
        nonlocal count
        if not path.is_relative_to(folder):
            return  # the cache of features is not part of a run
        point = (kind_of(path, folder), stage)
        print(json.dumps(point), file=said, flush=True)
        new, count = point not in passed, count + 1
        if (order["fault"] == "kill at a new point" and new) or order["fault"] == f"kill {count}":
            os.kill(os.getpid(), signal.SIGKILL)
        if order["fault"] == f"full {count}":
            raise OSError(errno.ENOSPC, "No space left on device")
        if order["fault"] == "read-only" and stage == "made":
            raise OSError(errno.EROFS, "Read-only file system")

    return reached


def _child(order, cache, said):
    folder = Path(order["folder"])
    files.reached = _fault(order, folder, said)
    try:
        run_cell(made_up_run(cache, order.get("method", "phaser")), folder)
    except PhaserError as error:
        print(json.dumps({"error": str(error)}), file=said, flush=True)


def _forked(order, cache):
    """Run one cell in a process of its own; how it ended and which points it passed."""
    reading, writing = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        status = 1
        try:
            with os.fdopen(writing, "w") as said:
                _child(order, cache, said)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    if "kill_after_s" in order:
        time.sleep(order["kill_after_s"])
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(reading) as heard:
        said = [json.loads(line) for line in heard.read().splitlines() if line.endswith(("]", "}"))]
    _, status = os.waitpid(pid, 0)
    errors = [one["error"] for one in said if isinstance(one, dict)]
    return {
        "exit": os.waitstatus_to_exitcode(status),
        "error": errors[0] if errors else None,
        "points": [one for one in said if isinstance(one, list)],
        "seconds": time.monotonic() - started,
    }


def _warm_up(cache):
    """Import and cache all that a cell needs, without a backward pass: its threads do not fork."""
    backward, Accelerator.backward = Accelerator.backward, lambda self, loss: None
    run_cell(made_up_run(cache), cache / "warm-up")
    Accelerator.backward = backward


if __name__ == "__main__":
    forget_the_commit()
    _warm_up(Path(sys.argv[1]))
    for line in sys.stdin:
        print(json.dumps(_forked(json.loads(line), Path(sys.argv[1]))), flush=True)
