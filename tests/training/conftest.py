"""One small policy serves several folders; importlib mode makes no test module importable."""

import sys
from pathlib import Path

METHODS = str(Path(__file__).parents[1] / "methods")
if METHODS not in sys.path:
    sys.path.append(METHODS)
