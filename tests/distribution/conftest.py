"""The maker of empty environments; importlib mode imports no neighbour by itself."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
