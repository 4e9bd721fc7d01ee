"""The experts' own stages beside a recording: `meta/expert_stages.json`, which no reader opens.

The file holds runs: from which step on which arms of the expert's code ran, and when each arm is
taken. Recordings made before stages were kept have none; `expert_stages.kept_stages` follows the
expert once more for those.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from phaser.core.demonstration import Task
from phaser.core.errors import BrokenFile
from phaser.core.files import write_json
from phaser.demos.lerobot_layout import inside, small_json
from phaser.suites.metaworld.staged_expert import Stage, StagedExpert

NAME = "meta/expert_stages.json"
FORMAT = 1


def write_stages(folder: Path, task: Task, episodes: Sequence[Sequence[Stage]]) -> None:
    """The stage of every step of every episode, in the order of the recording."""
    conditions = StagedExpert(task.name).conditions
    used = sorted({line for stages in episodes for stage in stages for line in stage})
    content = {
        "format": FORMAT,
        "task": task.name,
        "arms": {str(line): conditions[line] for line in used},
        "episodes": [_to_json(stages) for stages in episodes],
    }
    write_json(folder / NAME, content)


def read_stages(folder: Path) -> tuple[tuple[Stage, ...], ...] | None:
    """The stage of every step of every episode; nothing for a recording without them."""
    path = inside(folder, NAME)
    if not path.exists():
        return None
    found = small_json(path)
    if found.get("format") != FORMAT:
        raise BrokenFile(f"{path} has format {found.get('format')!r}, expected {FORMAT}")
    try:
        return tuple(_from_json(entry) for entry in found["episodes"])
    except (KeyError, TypeError, ValueError) as error:
        raise BrokenFile(
            f"{path} does not hold the stages of episodes ({error}); delete it to have it made anew"
        ) from error


def _to_json(stages: Sequence[Stage]) -> dict[str, Any]:
    starts = [k for k in range(len(stages)) if k == 0 or stages[k] != stages[k - 1]]
    runs = [{"start": start, "arms": sorted(stages[start])} for start in starts]
    return {"num_frames": len(stages), "runs": runs}


def _from_json(entry: Any) -> tuple[Stage, ...]:
    runs, stages = entry["runs"], list[Stage]()
    edges = [*(int(run["start"]) for run in runs), int(entry["num_frames"])]
    if edges[0] != 0 or any(later <= earlier for earlier, later in pairwise(edges)):
        raise ValueError(f"runs that start at {edges[:-1]} of {edges[-1]} steps")
    for run, (start, stop) in zip(runs, pairwise(edges), strict=True):
        stages += [frozenset(map(int, run["arms"]))] * (stop - start)
    return tuple(stages)
