"""The made-up run of this folder; importlib mode makes no test module importable."""

import sys
from pathlib import Path

FAULTS = str(Path(__file__).parent)
if FAULTS not in sys.path:
    sys.path.append(FAULTS)
