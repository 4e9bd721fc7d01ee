"""Which whole demonstrations of a source are held out: never trained on, only measured."""

from __future__ import annotations

from phaser.core.errors import BadInput
from phaser.core.ranges import Range

SHARE_BETWEEN = Range(low=0, high=1, without_low=True, without_high=True)


def check_heldout_share(share: object) -> None:
    """Refuse a share that leaves nothing to learn from, or nothing to measure."""
    if not SHARE_BETWEEN.holds(share):
        raise BadInput(f"heldout_share {share!r}; expected {SHARE_BETWEEN}, such as 0.1")


def evenly_held_out(count: int, share: float) -> frozenset[int]:
    """Positions of the held-out ones among `count`, spread evenly over all of them."""
    held = _num_held_out(count, share)
    return frozenset((2 * place + 1) * count // (2 * held) for place in range(held))


def last_held_out(count: int, share: float) -> frozenset[int]:
    """Positions of the held-out ones among `count`: the last ones."""
    return frozenset(range(count - _num_held_out(count, share), count))


def _num_held_out(count: int, share: float) -> int:
    """The share in whole demonstrations: at least one, and at least one is left to learn from."""
    check_heldout_share(share)
    if count < 2:
        raise BadInput(
            f"{count} demonstration(s); expected at least 2: one to learn from, one to measure with"
        )
    return min(max(1, round(share * count)), count - 1)
