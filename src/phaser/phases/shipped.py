"""Annotations that come with the package: the paper's stage definitions of LIBERO-Goal.

The paper names its tasks T1 to T10; their phase names fit LIBERO-Goal's tasks in the order of the
benchmark and in no other, so the entries carry LIBERO's names and instructions.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from phaser.core.errors import BadInput, UnknownName
from phaser.phases.stage_info import TaskStages, read_stage_info

SHIPPED = {"libero-goal": "libero_goal.json"}


def read_stages(name_or_path: str) -> dict[str, TaskStages]:
    """A shipped annotation by name, else the file at a path; tasks in the file's order."""
    if name_or_path in SHIPPED:
        content = resources.files("phaser.phases") / "data" / SHIPPED[name_or_path]
        with resources.as_file(content) as path:
            return read_stage_info(path)
    path = Path(name_or_path)
    if path.is_dir():
        raise BadInput(
            f"{path} is a folder; expected a stage_info.json, which this writes: "
            f"phaser segment {path} --out stage_info.json"
        )
    if not path.exists() and path.suffix != ".json":
        raise UnknownName("annotation or file", name_or_path, SHIPPED)
    return read_stage_info(path)
