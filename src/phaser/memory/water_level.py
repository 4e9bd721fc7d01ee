"""Share a total among tasks evenly: as water stands equally high in vessels of unequal size."""

from __future__ import annotations

from collections.abc import Sequence

from phaser.core.errors import BadInput


def levelled(level: int, *, least: Sequence[int], most: Sequence[int]) -> list[int]:
    """Frames of each task at a level: the level, but no less than its floor or more than it has."""
    return [min(max(level, low), high) for low, high in zip(least, most, strict=True)]


def level_for(total: int, *, least: Sequence[int], most: Sequence[int]) -> list[int]:
    """Frames of each task, `total` in sum or all there are; what does not divide goes one by one
    to the first tasks that have room."""
    if total < sum(least):
        raise BadInput(
            f"a total of {total} frames, but the floors of all stored phases take {sum(least)}; "
            f"give at least {sum(least)}, or lower the floor"
        )
    low, high = 0, max(most)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(levelled(middle, least=least, most=most)) <= total:
            low = middle
        else:
            high = middle - 1
    counts = levelled(low, least=least, most=most)
    spare = total - sum(counts)
    for place, highest in enumerate(most):
        if spare and counts[place] == low and low < highest:
            counts[place] += 1
            spare -= 1
    return counts
