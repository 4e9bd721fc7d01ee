"""Makes the made-up robot samples of this folder importable; importlib mode imports none."""

import sys
from pathlib import Path

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.append(HERE)
