"""What each transition rehearsed: the routing weights over historical phases (paper 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from phaser.core.errors import BrokenFile
from phaser.core.files import read_json
from phaser.report.fields import as_list, as_object, number, text, whole


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseWeight:
    """The share of rehearsal that one historical phase received."""

    task: str
    index: int
    label: str
    weight: float
    priority: float | None = None
    """U of the paper; none where nothing routes, or an old run did not write it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """The weights while one new task was learnt."""

    task: str
    phases: tuple[PhaseWeight, ...]
    entropy_bits: float
    uniform_entropy_bits: float

    @property
    def is_uniform(self) -> bool:
        weights = [phase.weight for phase in self.phases]
        return not weights or max(weights) - min(weights) < 1e-9


def read_routing(path: Path) -> tuple[Transition, ...]:
    """Read `routing.json`: one entry per task that met a non-empty memory."""
    return tuple(
        _transition(as_object(entry, path), path) for entry in as_list(read_json(path), path)
    )


def _transition(entry: dict[str, object], path: Path) -> Transition:
    phases = tuple(
        PhaseWeight(
            task=text(phase, "task", path),
            index=whole(phase, "index", path),
            label=text(phase, "label", path),
            weight=number(phase, "weight", path),
            priority=None if phase.get("priority") is None else number(phase, "priority", path),
        )
        for phase in (as_object(item, path) for item in as_list(entry.get("phases"), path))
    )
    total = sum(phase.weight for phase in phases)
    if phases and not abs(total - 1) < 1e-3:
        raise BrokenFile(f"{path}: the weights of {entry.get('task')!r} sum to {total}; expected 1")
    return Transition(
        task=text(entry, "task", path),
        phases=phases,
        entropy_bits=number(entry, "entropy_bits", path),
        uniform_entropy_bits=number(entry, "uniform_entropy_bits", path),
    )
