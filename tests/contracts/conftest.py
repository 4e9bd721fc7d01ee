"""A suite without a simulator, and a small policy, serve several folders; importlib mode makes none
importable."""

import sys
from pathlib import Path

for folder in ("faults", "core", "methods"):
    if (place := str(Path(__file__).parents[1] / folder)) not in sys.path:
        sys.path.append(place)
