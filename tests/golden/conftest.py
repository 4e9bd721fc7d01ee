"""The golden runs are a program as well; importlib mode makes no test module importable."""

import sys
from pathlib import Path

if (place := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(place)
