"""One set of made-up tasks serves several folders; importlib mode makes none importable."""

import sys
from pathlib import Path

for folder in ("core", "memory"):
    place = str(Path(__file__).parents[1] / folder)
    if place not in sys.path:
        sys.path.append(place)
