"""When and on what a run was made: `machine.json`, beside the results and never part of them."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from phaser.core.files import read_json, write_json

MACHINE = "machine.json"


def note_start(folder: Path) -> None:
    """Write when a run began and on what; a run that goes on keeps its beginning."""
    if not (folder / MACHINE).exists():
        write_json(folder / MACHINE, {"started": _now(), "finished": None, "machine": machine()})


def note_end(folder: Path) -> None:
    """Write when a run ended; runs that began before this was written have no beginning."""
    path = folder / MACHINE
    begun: dict[str, Any] = {"started": None, "machine": machine()}
    if path.exists():
        begun = read_json(path)
    write_json(path, {**begun, "finished": _now()})


def machine() -> str:
    """The processor, how many of its cores this process may use, and the operating system."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores, {platform.system()}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
