"""Starts the run of `two_process_run.py` in as many processes as asked for, and reads its steps."""

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

TASKS = ("00-reach", "01-push")


@contextmanager
def launcher(cache, **environment):
    """A function that starts a run and gives the exit codes of its processes."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("two_process_run.py")), str(cache)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "OMP_NUM_THREADS": "1",
            **environment,
        },
    )

    def launched(folder, *, world, **more):
        order = {"folder": str(folder), "world": world, **more}
        process.stdin.write(json.dumps({**order, "port": _free_port()}) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield launched
    process.stdin.close()
    process.wait(timeout=300)
    process.stdout.close()


def steps(folder, task):
    """The record of a task's steps."""
    return pq.read_table(folder / "steps" / f"{task}.parquet")


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
