"""The made-up robots of the faults; importlib mode makes no module of tests importable."""

import sys
from pathlib import Path

if (place := str(Path(__file__).parents[1] / "faults")) not in sys.path:
    sys.path.append(place)
