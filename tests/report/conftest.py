"""Run folders with made-up numbers; importlib mode makes no module of tests importable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

if (place := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(place)

from written_runs import write_run_folder

WriteRun = Callable[..., Path]


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Writes one finished run and returns its folder."""

    def write(method: str, seed: int, **changes: Any) -> Path:
        return write_run_folder(tmp_path / f"{method}-{seed}", method, seed, **changes)

    return write
