"""Leases hold on shared disks: a holder elsewhere is believed while it gives signs of life."""

import json
import os
import time

import pytest

from phaser.core.leases import leased
from phaser.core.locks import InUse


def pretend(path, **changes):
    """The lease of a holder that this machine cannot look at."""
    with leased(path, what="run folder"):
        who = json.loads(path.read_text())
    path.write_text(json.dumps(who | {"machine": "elsewhere", "host": "node7", **changes}))
    return who


def test_a_lease_is_there_while_it_is_held_and_a_second_holder_is_refused(tmp_path):
    path = tmp_path / "new" / ".lease"
    with leased(path, what="run folder"):
        with (
            pytest.raises(InUse, match=rf"run folder .* in use by process {os.getpid()} on "),
            leased(path, what="run folder"),
        ):
            pass
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert not list(path.parent.iterdir())


def test_a_process_of_this_machine_that_is_gone_is_seen_at_once(tmp_path):
    path = tmp_path / ".lease"
    who = pretend(path)
    path.write_text(json.dumps(who | {"started": "1"}))
    with leased(path, what="run folder", lease_s=1e9):
        pass


def test_another_machine_is_believed_until_it_gave_no_sign_of_life_for_a_while(tmp_path):
    path = tmp_path / ".lease"
    pretend(path)
    with pytest.raises(InUse, match="on node7"), leased(path, what="run folder", lease_s=5.0):
        pass
    old = time.time() - 60
    os.utime(path, (old, old))
    with leased(path, what="run folder", lease_s=50.0):
        assert json.loads(path.read_text())["host"] != "node7"
    pretend(path)
    begun = time.monotonic()
    with leased(path, what="run folder", lease_s=0.3, wait_s=30.0):
        assert 0.2 < time.monotonic() - begun < 25


def test_signs_of_life_are_given_and_a_holder_that_lost_its_lease_is_told(tmp_path):
    path = tmp_path / ".lease"
    with leased(path, what="run folder", beat_s=0.02) as held:
        old = time.time() - 60
        os.utime(path, (old, old))
        _wait_until(lambda: path.stat().st_mtime > old + 30)
        held.require()
        pretend_other = json.dumps({"token": "another", "host": "node7"})
        path.write_text(pretend_other)
        with pytest.raises(InUse, match="taken over by another process"):
            _wait_until(lambda: held.require())
    # What another process holds is left alone.
    assert path.read_text() == pretend_other


def _wait_until(done):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen within 20 s")
