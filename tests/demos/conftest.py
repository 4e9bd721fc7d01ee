"""Makes the written-by-hand datasets of this folder importable; importlib mode makes none so."""

import sys
from pathlib import Path

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.append(HERE)
