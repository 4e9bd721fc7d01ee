"""The made-up run of this folder, and memories; importlib mode makes no test module importable."""

import os
import sys
from pathlib import Path

import pytest

SEED = "PHASER_FAULT_SEED"
"""Set it to repeat the kills, flips and forgeries of a run that failed."""

for folder in ("faults", "core", "memory"):
    place = str(Path(__file__).parents[1] / folder)
    if place not in sys.path:
        sys.path.append(place)


@pytest.fixture
def fault_seed() -> int:
    """Another seed in every run; pytest shows what is printed here where a test fails."""
    seed = int(os.environ.get(SEED) or int.from_bytes(os.urandom(4), "big"))
    print(f"to repeat: {SEED}={seed}")
    return seed
