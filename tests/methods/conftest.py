"""One set of made-up tasks serves several folders; importlib mode makes none importable."""

import sys
from pathlib import Path

SYNTHETIC = str(Path(__file__).parents[1] / "core")
if SYNTHETIC not in sys.path:
    sys.path.append(SYNTHETIC)
HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.append(HERE)
