"""A recording made in a process of its own: the simulator and torch never meet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phaser.core.demonstration import Task
from phaser.core.errors import PhaserError

if TYPE_CHECKING:
    from phaser.suites.libero.recording import ProtocolRecording

DEMO, REFUSED = "demonstration", "refused "


def record_in_process(
    recording: ProtocolRecording, folder: Path, task: Task, split: str, each: Callable[[], None]
) -> None:
    """Record one split of one task; `each` is called whenever a demonstration is recorded."""
    asked = {"folder": str(folder), "task": task.name, "split": split, **asdict(recording)}
    command = [sys.executable, "-m", "phaser.suites.libero.recording_process", json.dumps(asked)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        try:
            for line in child.stdout:
                if line.startswith(DEMO):
                    each()
                elif line.startswith(REFUSED):
                    raise PhaserError(json.loads(line.removeprefix(REFUSED)))
            said = child.stderr.read() if child.stderr else ""
        finally:
            child.kill()
    if child.returncode != 0:
        last = (said.strip().splitlines() or ["it said nothing"])[-1]
        raise PhaserError(
            f"recording {task.name!r} ended with code {child.returncode} ({last}); "
            "see: phaser doctor libero"
        )


def main(asked: dict[str, Any]) -> None:
    from phaser.suites.libero.protocol import Protocol
    from phaser.suites.libero.recording import LiberoRecording, ProtocolRecording
    from phaser.suites.libero.tasks import task_named

    said = os.fdopen(os.dup(1), "w", buffering=1)
    # What the simulator's libraries print is not for the one who reads our lines.
    os.dup2(2, 1)
    parent = os.getppid()

    def each() -> None:
        if os.getppid() != parent:
            # Whoever asked is gone, and the folder would be nobody's.
            os._exit(1)
        print(DEMO, file=said)

    protocol = {k: _tupled(v) for k, v in asked["protocol"].items()}
    recording = ProtocolRecording(
        settings=LiberoRecording(**asked["settings"]),
        protocol=Protocol(**protocol),
        control=asked["control"],
    )
    try:
        task = task_named(asked["task"])
        recording.record_here(Path(asked["folder"]), task, asked["split"], each)
    except PhaserError as error:
        print(REFUSED + json.dumps(str(error)), file=said)
    said.flush()
    # Some GL libraries crash while an interpreter that used them is taken down.
    os._exit(0)


def _tupled(value: Any) -> Any:
    return tuple(_tupled(one) for one in value) if isinstance(value, list) else value


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
