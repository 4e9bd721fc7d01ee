"""A suite without a simulator serves several folders; importlib mode makes none importable."""

import sys
from pathlib import Path

if (place := str(Path(__file__).parents[1] / "faults")) not in sys.path:
    sys.path.append(place)
