"""Made-up datasets and the local chat server of other folders; importlib mode imports none."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
for folder in ("core", "demos", "phases"):
    if str(TESTS / folder) not in sys.path:
        sys.path.append(str(TESTS / folder))
sys.path.append(str(TESTS / "cli"))
