"""The made-up robots of the faults and our matrices; importlib mode makes no test importable."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
for folder in ("faults", "evaluation"):
    if (place := str(TESTS / folder)) not in sys.path:
        sys.path.append(place)
