"""How far failed rollouts came, after the last task: per method, and milestone by milestone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from phaser.core.errors import BadInput
from phaser.evaluation.matrix import EPISODES_SCHEMA, checked_rows, with_later_columns
from phaser.evaluation.metrics import mean

if TYPE_CHECKING:
    from phaser.report.runs import RunResult

HEADINGS = ("method", "failed rollouts", "milestones reached")


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A rollout that was not solved, and which milestones of its task it ever reached."""

    task: str
    milestones: tuple[tuple[str, bool], ...]


def final_failures(episodes: pa.Table) -> tuple[Failure, ...]:
    """The failed rollouts of the last stage, where the suite tells milestones."""
    rows = checked_rows(with_later_columns(episodes), EPISODES_SCHEMA)
    last = max((row["after_index"] for row in rows), default=0)
    failed = [
        Failure(task=row["task"], milestones=_milestones(row["milestones"]))
        for row in rows
        if row["after_index"] == last and not row["success"] and row["milestones"]
    ]
    return tuple(one for one in failed if one.milestones)


def method_rows(groups: Mapping[str, Sequence[RunResult]]) -> list[tuple[str, ...]]:
    """Per method: how many rollouts failed, and what share of the milestones these reached."""
    by_method = _by_method(groups)
    if not any(by_method.values()):
        return []
    rows: list[tuple[str, ...]] = []
    for method, failures in by_method.items():
        shares = [mean([float(true) for _, true in one.milestones]) for one in failures]
        share = f"{100 * mean(shares):.0f} %" if shares else "–"
        rows.append((method, str(len(failures)), share))
    return rows


def headings(groups: Mapping[str, Sequence[RunResult]]) -> tuple[str, ...]:
    return ("task", "milestone", *groups)


def milestone_rows(groups: Mapping[str, Sequence[RunResult]]) -> list[tuple[str, ...]]:
    """Per task and milestone: which share of each method's failed rollouts came this far."""
    by_method = _by_method(groups)
    known = {
        (one.task, name): None
        for failures in by_method.values()
        for one in failures
        for name, _ in one.milestones
    }
    tasks = dict.fromkeys(task for task, _ in known)
    return [
        (task, name, *(_share(failures, task, name) for failures in by_method.values()))
        for task in tasks
        for owner, name in known
        if owner == task
    ]


def _by_method(groups: Mapping[str, Sequence[RunResult]]) -> dict[str, list[Failure]]:
    return {
        method: [one for run in runs for one in run.failures] for method, runs in groups.items()
    }


def _share(failures: Sequence[Failure], task: str, name: str) -> str:
    found = [dict(one.milestones).get(name, False) for one in failures if one.task == task]
    return f"{sum(found)}/{len(found)}" if found else "–"


def _milestones(text: str) -> tuple[tuple[str, bool], ...]:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"milestones {text[:80]!r} are not JSON; run this cell again") from error
    pairs = found if isinstance(found, list) else [found]
    for pair in pairs:
        if not isinstance(pair, list) or [type(part) for part in pair] != [str, bool]:
            raise BadInput(f"milestone {pair!r}; expected a name and whether it was reached")
    return tuple((name, reached) for name, reached in pairs)
