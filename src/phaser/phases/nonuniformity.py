"""How unequal the phases of annotated tasks are in length (paper, appendix on non-uniformity).

Equal buckets per phase differ from uniform sampling only where phases differ in length; these are
the numbers that say by how much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from phaser.core.errors import BadInput
from phaser.phases.stage_info import TaskStages


@dataclass(frozen=True, kw_only=True, slots=True)
class NonUniformity:
    """The paper's row for a set of tasks; r is the share of its demonstration a phase takes."""

    num_tasks: int
    num_phases: int
    """K of the paper: phases of all tasks together."""
    mean: float
    deviation: float
    """σ of r over all phases, with n - 1, which is what the paper's numbers come out with."""
    variation: float
    """CV: σ over the mean."""
    median_disparity: float
    """Longest over shortest phase of a task, median over tasks."""
    worst_disparity: float
    shortest: float
    boost: float
    """How much more of the shortest phase equal buckets hold: (1 / phases per task) / min r."""

    def to_json(self) -> dict[str, int | float]:
        return asdict(self)


def nonuniformity(tasks: Mapping[str, TaskStages]) -> NonUniformity:
    """Statistics of the ratios of all phases of all tasks."""
    if not tasks:
        raise BadInput("no annotated tasks; expected at least one")
    lengths = [
        np.array([phase.end_ratio - phase.start_ratio for phase in stages.phases])
        for stages in tasks.values()
    ]
    shares = np.concatenate(lengths)
    disparities = [float(one.max() / one.min()) for one in lengths]
    deviation = float(shares.std(ddof=1)) if len(shares) > 1 else 0.0
    return NonUniformity(
        num_tasks=len(tasks),
        num_phases=len(shares),
        mean=float(shares.mean()),
        deviation=deviation,
        variation=deviation / float(shares.mean()),
        median_disparity=float(np.median(disparities)),
        worst_disparity=max(disparities),
        shortest=float(shares.min()),
        boost=len(tasks) / len(shares) / float(shares.min()),
    )
