"""LeRobot's output folders: where training goes on, and where the next task starts from."""

from __future__ import annotations

from pathlib import Path

CHECKPOINTS, LAST = "checkpoints", "last"
MODEL, CONFIG = "pretrained_model", "train_config.json"


def newest(output: Path) -> Path | None:
    """The newest whole checkpoint of an output folder; None where there is none.

    LeRobot links `last` to a checkpoint when it is whole, and removes the old link just before. So
    where the link is missing beside several checkpoints, the newest of them is whole; one that is
    alone without a link may be half of one.
    """
    folder = output / CHECKPOINTS
    last = folder / LAST
    if (last / MODEL / CONFIG).is_file():
        return last.resolve()
    numbered = sorted(path for path in folder.glob("[0-9]*") if path.name.isdecimal())
    return numbered[-1].resolve() if len(numbered) > 1 else None


def policy_of(output: Path) -> Path | None:
    """The folder of the policy that a finished task has left."""
    found = newest(output)
    return None if found is None else found / MODEL


def set_aside(output: Path) -> Path:
    """Rename what an interrupted run left before its first checkpoint: LeRobot refuses to see it.

    Nothing is deleted: logs may be in it.
    """
    number = 1
    while (aside := output.with_name(f"{output.name}.interrupted-{number}")).exists():
        number += 1
    return output.rename(aside)
