"""Which official initial states demonstrations start from, and which are kept for evaluation."""

from __future__ import annotations

from phaser.core.errors import BadInput, UnknownName

STATES = {
    "train": range(0, 35),
    "heldout": range(35, 40),
    "evaluation": range(40, 50),
}


def states(split: str, count: int) -> tuple[int, ...]:
    """The first initial states of a split; training and evaluation never overlap."""
    if split not in STATES:
        raise UnknownName("split", split, STATES)
    if not 0 < count <= len(STATES[split]):
        raise BadInput(
            f"{count} initial states for {split!r}; LIBERO has 50, of which {len(STATES[split])} "
            f"are for {split}: expected 1 to {len(STATES[split])}"
        )
    return tuple(STATES[split][:count])
