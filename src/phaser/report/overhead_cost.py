"""What a run spent beside its training, read from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phaser.core.errors import BrokenFile
from phaser.core.files import read_json
from phaser.core.measurements import Passes
from phaser.report.fields import as_list, as_object, whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """One run; `None` where its version did not record it."""

    step_ms: float | None
    """Processor time of a training step, with its share of checkpoints."""
    is_bound: bool
    """The step's time is all that has no other name, so an upper bound: runs of old versions."""
    transition_ms: float | None
    """Processor time of what a method does once per task: draw, keep and penalty."""
    passes: Passes
    """Passes that samplers made to measure, over all tasks."""
    memory_bytes: int
    penalty_bytes: int


def read_cost(folder: Path, timing: Mapping[str, float], *, num_steps: int | None) -> Cost:
    """`num_steps` are those that the settings ask for, where the run did not count its own."""
    trained, streamed = timing.get("learn_cpu_s"), timing.get("stream_cpu_s")
    steps, transitions = timing.get("steps"), timing.get("transitions")
    is_bound = not (trained and steps)
    if is_bound:
        trained, steps = timing.get("train_s"), num_steps
    between = None
    if streamed is not None and transitions and not is_bound and trained is not None:
        between = 1000 * max(streamed - trained, 0.0) / transitions
    return Cost(
        step_ms=1000 * trained / steps if trained is not None and steps else None,
        is_bound=is_bound,
        transition_ms=between,
        passes=read_passes(folder / "routing.json"),
        memory_bytes=_bytes_in(folder / "memory"),
        penalty_bytes=_bytes_in(folder / "penalty"),
    )


def read_passes(path: Path) -> Passes:
    """The sum over tasks; samplers that measure nothing have none."""
    entries = [as_object(entry, path) for entry in as_list(read_json(path), path)]
    made = [as_object(entry.get("passes", {}), path) for entry in entries]
    names = ("forward", "backward", "frames")
    sums = {name: sum(whole(one, name, path) for one in made if one) for name in names}
    if min(sums.values()) < 0:
        raise BrokenFile(f"{path}: passes {sums}; expected counts of 0 or more")
    return Passes(**sums)


def planned_steps(settings: Mapping[str, Any], num_tasks: int) -> int | None:
    """Steps of a whole run by its settings; `None` where they do not say."""
    fit = settings.get("fit")
    steps = fit.get("steps_per_task") if isinstance(fit, Mapping) else None
    return steps * num_tasks if isinstance(steps, int) else None


def _bytes_in(folder: Path) -> int:
    """Of all files; a run that kept nothing has no folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
