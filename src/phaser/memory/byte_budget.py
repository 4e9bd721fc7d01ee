"""A budget in bytes: as many frames as fit once encoded, so that codecs compete fairly."""

from __future__ import annotations

from collections.abc import Callable

from phaser.core.errors import BadInput
from phaser.core.memory import Bucket
from phaser.core.ports import Sizes


def within_bytes(
    budget_bytes: int,
    select: Callable[[int], list[Bucket]],
    sizes: Sizes,
    most: int,
    *,
    least: int = 1,
) -> list[Bucket]:
    """The frames that `select(count)` keeps for the largest count, up to `most`, that fits.

    `least` is the smallest count that makes sense: one frame of every phase. A rule may choose
    other frames for another count, so what is certain is that these fit and that one frame more
    would not.
    """
    if not 1 <= least <= most:
        raise BadInput(f"a memory of {least} to {most} frames; expected 1 <= least <= most")
    fitting = select(least)
    held_bytes = sizes.total(fitting)
    if held_bytes > budget_bytes:
        raise BadInput(
            f"a budget of {budget_bytes} bytes, but the smallest memory, of {least} frames, takes "
            f"{held_bytes}; give at least that many, or choose a smaller codec or image"
        )
    fits, too_many, halve = least, most + 1, False
    while too_many - fits > 1:
        # The mean size so far points near the answer without encoding far more than is kept; every
        # second try halves what is left within reach, lest a misleading mean makes it creep.
        expected = budget_bytes * fits // max(held_bytes, 1)
        middle = (fits + min(too_many, 2 * expected + 2)) // 2
        count = min(max(middle if halve else expected, fits + 1), too_many - 1)
        halve = not halve
        tried = select(count)
        tried_bytes = sizes.total(tried, stop_above=budget_bytes)
        if tried_bytes <= budget_bytes:
            fits, fitting, held_bytes = count, tried, tried_bytes
        else:
            too_many = count
    return fitting
