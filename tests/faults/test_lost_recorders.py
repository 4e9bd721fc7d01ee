"""A recording process ends with the command that started it, however that command ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import phaser

SUITE = '''
import os, time
from pathlib import Path


class Slow:
    """Takes a minute over every demonstration."""

    def demos_to_record(self, task):
        return 1

    def ensure_recorded(self, task, each):
        Path(f"recording-{os.getpid()}").touch()
        time.sleep(60)
'''
PROGRAM = """
from slow_suite import Slow
from phaser.core.demonstration import Task
from phaser.experiments.prepare import prefetch

if __name__ == "__main__":
    tasks = [Task(name=name, instruction=name) for name in ("one", "two")]
    prefetch(Slow(), None, None, tasks, print)
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_recorder_outlives_its_command(how: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "slow_suite.py").write_text(SUITE)
    (tmp_path / "program.py").write_text(PROGRAM)
    places = os.pathsep.join([str(Path(phaser.__file__).parents[1]), str(tmp_path)])
    process = subprocess.Popen(
        [sys.executable, "program.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": places}
    )
    recorders = wait_for(lambda: [*tmp_path.glob("recording-*")], count=2)
    process.send_signal(how)
    assert process.wait(10) == -how
    numbers = [int(one.name.partition("-")[2]) for one in recorders]
    end = time.monotonic() + 20
    while any(is_alive(number) for number in numbers):
        assert time.monotonic() < end, f"{numbers} are still there"
        time.sleep(0.1)


def wait_for(found, *, count: int) -> list[Path]:
    end = time.monotonic() + 120
    while len(there := found()) < count:
        assert time.monotonic() < end
        time.sleep(0.1)
    return there


def is_alive(number: int) -> bool:
    """Whether a process is there and does more than wait to be buried."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
