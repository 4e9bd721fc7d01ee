"""The made-up run of this folder, and memories; importlib mode makes no test module importable."""

import sys
from pathlib import Path

for folder in ("faults", "core", "memory"):
    place = str(Path(__file__).parents[1] / folder)
    if place not in sys.path:
        sys.path.append(place)
