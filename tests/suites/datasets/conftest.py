"""Made-up datasets of this folder and of the readers' tests; importlib mode imports none."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
for folder in (TESTS / "demos", TESTS / "suites" / "datasets"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


@pytest.fixture
def sources(tmp_path):
    """A LIBERO-style HDF5 file of one task and a LeRobot v2.1 folder of two, alike in shape."""
    from made_datasets import write_v2
    from made_sources import write_hdf5

    write_hdf5(tmp_path / "mug.hdf5")
    write_v2(tmp_path / "drawer", [20, 22, 24, 21], version="v2.1", video=False)
    return tmp_path / "mug.hdf5", tmp_path / "drawer"
