"""`stage_info.json`: phases of tasks as ratios of their demonstrations, whoever found them.

{"format": "phaser-stage-info", "version": 2, "tasks": {"open_drawer": {"instruction": "open the
drawer", "source": "human", "phases": [{"name": "approach", "start_ratio": 0.0, "end_ratio": 0.85},
…]}}}. The phases tile [0, 1]. A task may also hold "flag" (what went wrong while it was segmented),
"episodes" (the boundaries of each demonstration in steps) and "annotated" (who, when, how long);
docs/stage_info.schema.json is the whole form. Version 1 is the object of the tasks alone; it is
still read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast, get_args

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json, write_json
from phaser.core.ranges import AMOUNT, COUNT_OR_ZERO, SHARE
from phaser.phases.stages import Annotator as Annotator
from phaser.phases.stages import EpisodeSegmenter as EpisodeSegmenter
from phaser.phases.stages import EpisodeStages as EpisodeStages
from phaser.phases.stages import RatioPhase as RatioPhase
from phaser.phases.stages import RatioSegmenter as RatioSegmenter
from phaser.phases.stages import State as State
from phaser.phases.stages import TaskStages as TaskStages
from phaser.phases.transfer import Source

FORMAT, VERSION = "phaser-stage-info", 2
_TASK_KEYS = {"instruction", "source", "phases"}
_OPTIONAL_KEYS = frozenset({"flag", "episodes", "annotated"})
_PHASE_KEYS = {"name", "start_ratio", "end_ratio"}
_EPISODE_KEYS = {"episode", "num_frames", "boundaries"}
_EPISODE_OPTIONAL = frozenset({"sources", "phases", "state"})


def write_stage_info(path: Path, tasks: Mapping[str, TaskStages]) -> None:
    """Write the annotated tasks in the newest version of the format."""
    write_json(path, stage_info_json(tasks))


def stage_info_json(tasks: Mapping[str, TaskStages]) -> dict[str, Any]:
    """What a `stage_info.json` with these tasks holds."""
    written = {name: _to_json(stages) for name, stages in tasks.items()}
    return {"format": FORMAT, "version": VERSION, "tasks": written}


def read_stage_info(path: Path) -> dict[str, TaskStages]:
    """The annotated tasks by name; anything missing, unknown or not tiling [0, 1] is refused."""
    return stages_in(read_json(path), str(path))


def stages_in(content: Any, place: str) -> dict[str, TaskStages]:
    """The annotated tasks in the content of a file; `place` names it in messages."""
    tasks = {}
    for name, entry in _entries(content, place).items():
        where = f"{place}, task {name!r}"
        _check_keys(entry, _TASK_KEYS, where, optional=_OPTIONAL_KEYS)
        for part in ("phases", "episodes"):
            if not isinstance(entry.get(part, []), list):
                raise BrokenFile(f"{where}: {part!r} is not a list")
        try:
            tasks[name] = TaskStages(
                instruction=_text(entry["instruction"], f"{where}: instruction"),
                source=_text(entry["source"], f"{where}: source"),
                phases=tuple(_phase(phase, where) for phase in entry["phases"]),
                flag=_text(entry.get("flag", ""), f"{where}: flag"),
                episodes=tuple(_episode(one, where) for one in entry.get("episodes", [])),
                annotated=_annotator(entry.get("annotated"), where),
            )
        except BrokenFile:
            raise
        except BadInput as error:
            raise BrokenFile(f"{where}: {error}") from error
    return tasks


def require_replaceable(path: Path, *, flag: str) -> None:
    """An annotation made by people, or another file altogether, is never overwritten."""
    if not path.exists():
        return
    if not path.is_file():
        raise BadInput(
            f"{path} is a folder; name a file with {flag}, such as {path}/stage_info.json"
        )
    by_hand = [
        f"task {name!r} from {stages.source!r}"
        for name, stages in read_stage_info(path).items()
        if not stages.source.startswith("auto-pc")
    ]
    if by_hand:
        raise BadInput(f"{path} holds {by_hand[0]}, which was not made here; choose another {flag}")


def _entries(content: Any, place: str) -> dict[str, Any]:
    """The entries of the tasks, by name; version 1 had nothing around them."""
    if not isinstance(content, dict):
        raise BrokenFile(f"{place} holds {type(content).__name__}; expected one object per task")
    # A task may be called "format", but its entry is no text.
    if not isinstance(content.get("format"), str):
        return content
    _check_keys(content, {"format", "version", "tasks"}, place)
    if content["format"] != FORMAT or not isinstance(content["tasks"], dict):
        raise BrokenFile(f"{place} is of the format {content['format']!r}; expected {FORMAT!r}")
    if content["version"] != VERSION:
        raise BrokenFile(
            f"{place} has version {str(content['version'])[:20]}; this phaser reads versions 1 and "
            f"{VERSION}: upgrade it, or annotate again"
        )
    return content["tasks"]


def _to_json(stages: TaskStages) -> dict[str, Any]:
    phases = [
        {"name": phase.name, "start_ratio": phase.start_ratio, "end_ratio": phase.end_ratio}
        for phase in stages.phases
    ]
    entry: dict[str, Any] = {
        "instruction": stages.instruction,
        "source": stages.source,
        "phases": phases,
    }
    if stages.flag:
        entry["flag"] = stages.flag
    if stages.episodes:
        entry["episodes"] = [_episode_to_json(one) for one in stages.episodes]
    if stages.annotated:
        entry["annotated"] = asdict(stages.annotated)
    return entry


def _episode_to_json(one: EpisodeStages) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "episode": one.episode,
        "num_frames": one.num_frames,
        "boundaries": list(one.boundaries),
    }
    if one.sources:
        entry["sources"] = list(one.sources)
    if one.phases:
        entry["phases"] = list(one.phases)
    if one.state:
        entry["state"] = one.state
    return entry


def _phase(entry: Any, where: str) -> RatioPhase:
    _check_keys(entry, _PHASE_KEYS, f"{where}, phase")
    return RatioPhase(
        name=_text(entry["name"], f"{where}: phase name"),
        start_ratio=_ratio(entry["start_ratio"], f"{where}: start_ratio"),
        end_ratio=_ratio(entry["end_ratio"], f"{where}: end_ratio"),
    )


def _episode(entry: Any, where: str) -> EpisodeStages:
    _check_keys(entry, _EPISODE_KEYS, f"{where}, episode", optional=_EPISODE_OPTIONAL)
    boundaries = entry["boundaries"]
    if not isinstance(boundaries, list):
        raise BrokenFile(f"{where}: episode boundaries {boundaries!r}; expected a list of steps")
    return EpisodeStages(
        episode=_whole(entry["episode"], f"{where}: episode"),
        num_frames=_whole(entry["num_frames"], f"{where}: num_frames"),
        boundaries=tuple(_whole(step, f"{where}: boundary") for step in boundaries),
        sources=_sources(entry.get("sources", []), where),
        phases=_names(entry.get("phases", []), where),
        state=_state(entry.get("state"), where),
    )


def _sources(value: Any, where: str) -> tuple[Source, ...]:
    if not isinstance(value, list) or not all(one in get_args(Source) for one in value):
        raise BrokenFile(
            f"{where}: episode sources {value!r}; expected a list of {', '.join(get_args(Source))}"
        )
    return tuple(value)


def _names(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise BrokenFile(f"{where}: episode phases {value!r}; expected a list of names")
    return tuple(_text(name, f"{where}: phase name") for name in value)


def _state(value: Any, where: str) -> State | None:
    if value is not None and value not in get_args(State):
        raise BrokenFile(f"{where}: state {value!r}; expected {' or '.join(get_args(State))}")
    return cast("State | None", value)


def _annotator(value: Any, where: str) -> Annotator | None:
    if value is None:
        return None
    _check_keys(value, {"who", "when", "seconds"}, f"{where}, annotated")
    seconds = value["seconds"]
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not AMOUNT.holds(seconds)
    ):
        raise BrokenFile(f"{where}: seconds {str(seconds)[:60]}; expected {AMOUNT}")
    return Annotator(
        who=_text(value["who"], f"{where}: who"),
        when=_text(value["when"], f"{where}: when"),
        seconds=float(seconds),
    )


def _check_keys(
    entry: Any, expected: set[str], where: str, *, optional: frozenset[str] = frozenset()
) -> None:
    if not isinstance(entry, dict) or not expected <= set(entry) <= expected | optional:
        found = sorted(entry) if isinstance(entry, dict) else type(entry).__name__
        raise BrokenFile(f"{where} holds {found}; expected {sorted(expected)}")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise BrokenFile(f"{where} is {value!r}; expected text")
    return value


def _ratio(value: Any, where: str) -> float:
    if not isinstance(value, int | float) or not SHARE.holds(value):
        raise BrokenFile(f"{where} is {str(value)[:60]}; expected {SHARE}")
    return float(value)


def _whole(value: Any, where: str) -> int:
    if not isinstance(value, int) or not COUNT_OR_ZERO.holds(value):
        raise BrokenFile(f"{where} is {str(value)[:60]}; expected {COUNT_OR_ZERO} (of 64 bits)")
    return value
