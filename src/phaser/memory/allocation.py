"""How many frames each phase receives: equal shares, exact in sum (paper 3.2 and appendix H.3).

What does not divide goes one by one to the first phases: 9 frames on 5 phases are 2, 2, 2, 2, 1. In
the paper's zero-budget control the first sibling absorbs all of it: 278 frames × 4 phases, phase 0
at zero, gives 372 + 370 + 370.
"""

from __future__ import annotations

from collections.abc import Sequence

from phaser.core.errors import BadInput

RULE = (
    "Every phase gets an equal share, rounded down. What a phase cannot fill, having too few "
    "candidates after the stride or being emptied on purpose (shortfall), and what does not "
    "divide go in equal parts to the phases with room, odd frames one by one to the first of them "
    "(all to the first where a phase is emptied on purpose), until all is placed "
    "(redistributed): frames = share - shortfall + redistributed."
)
"""How a budget is shared, in words, for whoever reads a certificate."""


def allocate(total: int, capacities: Sequence[int], *, zero: int | None = None) -> list[int]:
    """Frames per phase, `total` in sum; phase `zero` gets none, a full phase leaves to the rest."""
    _check(total, capacities, zero)
    capacities = [0 if phase == zero else room for phase, room in enumerate(capacities)]
    counts = [0] * len(capacities)
    while (remaining := total - sum(counts)) > 0:
        roomy = [phase for phase, room in enumerate(capacities) if counts[phase] < room]
        share = remaining // len(roomy)
        if not share:
            # Fewer than phases with room: one by one, or all to the first (the paper's control).
            roomy = roomy[:remaining] if zero is None else roomy[:1]
            share = 1 if zero is None else remaining
        for phase in roomy:
            counts[phase] += min(share, capacities[phase] - counts[phase])
    return counts


def allocate_by_root(total: int, capacities: Sequence[int]) -> list[int]:
    """Frames per phase by the square root of what it offers: between equal and by length."""
    roots = [room**0.5 for room in capacities]
    return _rounded([total * root / sum(roots) for root in roots], total, capacities)


def allocate_above_floor(total: int, capacities: Sequence[int]) -> list[int]:
    """Frames per phase: half of the total in equal parts, the other half by what a phase offers.

    Every phase has at least half of an equal share; where one phase dominates, most of the rest is
    its own, as under even spacing.
    """
    floor = 0.5 * total / max(1, len(capacities))
    by_length = [0.5 * total * room / max(1, sum(capacities)) for room in capacities]
    return _rounded([floor + share for share in by_length], total, capacities)


def _rounded(wanted: Sequence[float], total: int, capacities: Sequence[int]) -> list[int]:
    """Whole frames near the wanted shares: at least one of each phase, never more than it has."""
    _check(total, capacities, None)
    counts = [min(room, max(1, int(share))) for share, room in zip(wanted, capacities, strict=True)]
    while (remaining := total - sum(counts)) != 0:
        change = 1 if remaining > 0 else -1
        open_phases = [
            phase
            for phase, room in enumerate(capacities)
            if (counts[phase] < room if change > 0 else counts[phase] > 1)
        ]
        phase = max(open_phases, key=lambda phase: change * (wanted[phase] - counts[phase]))
        counts[phase] += change
    return counts


def _check(total: int, capacities: Sequence[int], zero: int | None) -> None:
    if zero is not None and not 0 <= zero < len(capacities):
        raise BadInput(f"phase {zero} cannot be left empty: the task has {len(capacities)} phases")
    open_phases = [phase for phase in range(len(capacities)) if phase != zero]
    if not open_phases:
        raise BadInput("no phase may hold frames; a task with one phase cannot have it emptied")
    if total < len(open_phases):
        raise BadInput(
            f"a budget of {total} frames is smaller than the {len(open_phases)} phases; "
            f"give each task at least {len(open_phases)} frames"
        )
    if any(capacities[phase] < 1 for phase in open_phases):
        raise BadInput(f"phase capacities {list(capacities)}; expected at least 1 each")
    available = sum(capacities[phase] for phase in open_phases)
    if total > available:
        raise BadInput(
            f"a budget of {total} frames, but only {available} candidates; "
            "lower the budget or record more demonstrations"
        )
