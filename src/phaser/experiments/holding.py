"""The folder of a cell held by one process, and all that happens in it logged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from phaser.core.leases import leased
from phaser.core.locks import exclusive
from phaser.experiments.event_log import EVENTS, logged
from phaser.experiments.events import Notify

WHAT = "run folder"


@contextmanager
def held(folder: Path, notify: Notify, *, wait_s: float) -> Iterator[Notify]:
    """Hold the folder; gives what a cell tells its events to.

    notify: told all events, after they are logged.
    wait_s: how long to wait for another process that holds the folder, or held it when it was lost.
    """
    with (
        exclusive(folder / ".lock", what=WHAT, wait_s=wait_s),
        leased(folder / ".lease", what=WHAT, wait_s=wait_s) as lease,
        logged(folder / EVENTS, notify, lease.require) as tell,
    ):
        yield tell
