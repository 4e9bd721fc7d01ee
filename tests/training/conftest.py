"""One small policy serves several folders; importlib mode makes no test module importable."""

import sys
from pathlib import Path

for folder in ("core", "methods", "training"):
    place = str(Path(__file__).parents[1] / folder)
    if place not in sys.path:
        sys.path.append(place)
