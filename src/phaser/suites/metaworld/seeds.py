"""Seeds of initial states: training, held-out and evaluation never overlap."""

from __future__ import annotations

from phaser.core.errors import BadInput, UnknownName

SEEDS = {
    "train": range(1000, 3000),
    "heldout": range(3000, 5000),
    "evaluation": range(5000, 7000),
}


def seeds(split: str, count: int) -> range:
    """The first seeds of a split."""
    if split not in SEEDS:
        raise UnknownName("split", split, SEEDS)
    if not 0 < count <= len(SEEDS[split]):
        raise BadInput(f"{count} seeds of {split!r}; expected 1 to {len(SEEDS[split])}")
    return SEEDS[split][:count]
