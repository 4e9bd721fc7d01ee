"""`phaser libero fetch` as tests call it, against the hub of hub_server.py."""

from __future__ import annotations

import pytest
from hub_server import Hub

from phaser.cli import main
from phaser.suites.libero.listing import ASSETS

Said = pytest.CaptureFixture[str]
GOAL = ("--suites", "libero-goal")
PLATE = "stable_scanned_objects/plate/vis.msh"


def fetch(*words: str) -> int:
    return main.execute(["libero", "fetch", *words])


def refusal(capsys: Said, *words: str) -> str:
    """The one line with which a fetch is refused."""
    assert fetch(*words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def of_suites(hub: Hub) -> dict[str, bytes]:
    """The part of the hub's assets that its two suites need."""
    left = (".gitattributes", "turbosquid_objects/of_no_suite_here/")
    everything = hub.repositories[ASSETS.name]
    return {path: content for path, content in everything.items() if not path.startswith(left)}
