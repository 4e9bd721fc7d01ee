"""The stages that last, out of what was so at every step: flicker and transitions left out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import TypeVar

SHORTEST_STAGE = 5
"""Stages shorter than this many steps are a transition or a flicker, not a stage of their own."""

AnyStage = TypeVar("AnyStage", bound=Hashable)


def lasting_stages(
    stages: Sequence[AnyStage], *, shortest: int = SHORTEST_STAGE
) -> tuple[tuple[AnyStage, int], ...]:
    """The stages that last, each with its first step.

    What is shorter belongs to the stage that follows it, so a boundary lies where the stage before
    is left. Two lasting stretches of the same stage, with only short ones between, are one stage:
    an expert that hesitates at a threshold has not begun anything new.
    """
    changes = [step for step in range(1, len(stages)) if stages[step] != stages[step - 1]]
    found: list[tuple[AnyStage, int]] = []
    left_at = 0
    for start, stop in pairwise([0, *changes, len(stages)]):
        if stop - start < shortest:
            continue
        if not found or stages[start] != found[-1][0]:
            found.append((stages[start], left_at if found else 0))
        left_at = stop
    return tuple(found)
