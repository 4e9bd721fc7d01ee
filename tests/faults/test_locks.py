"""Two processes never write into one folder, and a lock dies with whoever held it."""

import os
import signal
import subprocess
import sys

import pytest

from phaser.core.locks import InUse, exclusive

HOLD = """
import sys, time
from pathlib import Path
from phaser.core.locks import exclusive
with exclusive(Path(sys.argv[1]), what="run folder"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def other_process(tmp_path):
    """A second process that holds the lock until it is ended."""
    paths = os.pathsep.join(path for path in sys.path if path)
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / ".lock")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    with child:
        assert child.stdout.readline() == "held\n"
        yield child
        child.kill()


def test_a_second_process_is_refused_in_one_line_that_names_the_first(other_process, tmp_path):
    with (
        pytest.raises(
            InUse, match=rf"^run folder .* in use by process {other_process.pid} on "
        ) as e,
        exclusive(tmp_path / ".lock", what="run folder"),
    ):
        pass
    assert "\n" not in str(e.value)
    assert (tmp_path / ".lock").exists()


def test_the_lock_of_a_killed_process_is_taken_over(other_process, tmp_path):
    os.kill(other_process.pid, signal.SIGKILL)
    other_process.wait()
    assert (tmp_path / ".lock").exists()
    with exclusive(tmp_path / ".lock", what="run folder"):
        assert str(os.getpid()) in (tmp_path / ".lock").read_text()
    assert not (tmp_path / ".lock").exists()


def test_the_same_process_is_refused_too_and_the_first_holder_goes_on(tmp_path):
    path = tmp_path / "new" / ".lock"
    with exclusive(path, what="memory"):
        with pytest.raises(InUse), exclusive(path, what="memory"):
            pass
        with pytest.raises(InUse), exclusive(path, what="memory"):
            pass
    with exclusive(path, what="memory"):
        pass


def test_an_error_inside_frees_the_lock(tmp_path):
    with pytest.raises(KeyError), exclusive(tmp_path / ".lock", what="memory"):
        raise KeyError
    with exclusive(tmp_path / ".lock", what="memory"):
        pass


def test_a_lock_that_is_freed_between_opening_and_locking_is_not_shared(tmp_path, monkeypatch):
    """Three processes: one leaves and removes the file, one got the removed file, one a new one."""
    path = tmp_path / ".lock"
    opened = os.open
    removed = []

    def open_then_lose(name, *some):
        handle = opened(name, *some)
        if not removed:
            removed.append(name)
            os.unlink(name)
        return handle

    monkeypatch.setattr(os, "open", open_then_lose)
    with exclusive(path, what="memory"):
        monkeypatch.undo()
        assert path.exists()
        with pytest.raises(InUse), exclusive(path, what="memory"):
            pass
    assert removed
