"""A whole run of the made-up suite.

Run as a program it is a nursery of processes: everything is imported and computed once, then each
line of standard input forks one process that runs a cell and may be killed on the way.
"""

import errno
import json
import os
import re
import signal
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

from accelerate import Accelerator
from made_up_suite import MadeUpSuite

from phaser.core import files
from phaser.core.errors import PhaserError
from phaser.experiments import compatibility
from phaser.experiments import folder as run_folder
from phaser.experiments.cell import run_cell
from phaser.experiments.run import Evaluation, Run
from phaser.memory.budget import Budget
from phaser.methods.table import METHODS
from phaser.policies.tiny.settings import Tiny
from phaser.training.fit import Fit


def made_up_run(cache, method="phaser", **changes):
    run = Run(
        suite=MadeUpSuite(task_list=("reach", "push", "hammer"), cache=cache),
        policy=Tiny(train_encoder=True, width=8, channels=2, chunk_length=4),
        fit=Fit(steps_per_task=6, batch_size=6, checkpoint_every_steps=2),
        evaluation=Evaluation(rollouts_per_task=2, learnt_rollouts=1, earlier_rollouts=1),
    )
    return replace(run, **changes).with_method(METHODS[method]).with_budget(Budget.per_task(8))


def kind_of(path, folder):
    """Files that are written by one line of code have one name."""
    name = str(path.relative_to(folder))
    name = re.sub(r"unfinished-[\d-]+", "unfinished", name)
    return re.sub(r"\d+-(reach|push|hammer|all)(-[0-9a-f]{12})?", "TASK", name)


def forget_the_commit():
    """Whoever works on the code while its tests run must not fail them."""
    run_folder.commit = compatibility.commit = lambda: "made up"


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
