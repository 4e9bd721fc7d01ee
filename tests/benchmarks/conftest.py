"""The benchmarks are no part of the package; their folder is the repository's own."""

import sys
from pathlib import Path

REPOSITORY = str(Path(__file__).parents[2])
if REPOSITORY not in sys.path:
    sys.path.append(REPOSITORY)
