"""Made-up demonstrations of other folders; importlib mode imports none."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
for folder in ("core", "cli", "phases", "annotate"):
    if str(TESTS / folder) not in sys.path:
        sys.path.append(str(TESTS / folder))
