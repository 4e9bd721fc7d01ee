"""`phaser memory show|verify|forget|repair|export|materialise`: look after a memory on disk."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from phaser.cli.arguments import split_first
from phaser.core.errors import BadInput, UnknownName

ACTIONS = {
    "show": ("phaser.cli.memory_show", "what a memory holds: tasks, phases, frames, bytes, age"),
    "verify": ("phaser.cli.memory_verify", "read every byte and name what is damaged"),
    "forget": ("phaser.cli.memory_forget", "remove a task or an episode, bytes and all"),
    "repair": ("phaser.cli.memory_repair", "rebuild a missing manifest from the shards"),
    "export": ("phaser.cli.memory_export", "write the kept frames as a LeRobot v3.0 dataset"),
    "materialise": (
        "phaser.cli.memory_materialise",
        "copy frames that stayed in their dataset into the memory",
    ),
}
"""Each action's module has `execute(arguments) -> exit code`."""

USAGE = """\
usage: phaser memory show DIR [--pictures FILE.html] [--json]
       phaser memory verify DIR [--json]
       phaser memory forget DIR --task NAME [--episode N] [--yes] [--json]
       phaser memory repair DIR [--json]
       phaser memory export DIR --to OUT [flags]
       phaser memory materialise DIR [--task NAME] [--codec NAME] [--json]
"""


def execute(arguments: Sequence[str]) -> int:
    name, words = split_first(arguments)
    if not name and ("-h" in words or "--help" in words):
        width = max(map(len, ACTIONS))
        lines = [f"{action.ljust(width)}  {summary}" for action, (_, summary) in ACTIONS.items()]
        print("\n".join([USAGE, *lines]))
        return 0
    if not name:
        raise BadInput(f"memory: say {', '.join(ACTIONS)} first; see phaser memory --help")
    if name not in ACTIONS:
        raise UnknownName("action of phaser memory", name, ACTIONS)
    code: int = importlib.import_module(ACTIONS[name][0]).execute(words)
    return code
