"""Tests check array shapes at run time and keep to a cache folder of their own.

LIBERO's meshes are those of PHASER_LIBERO_ASSETS, else of ../shared/libero, else what the user has
fetched; where none of them is, LIBERO's tests are skipped and say what they need.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

LIBERO_ASSETS = "PHASER_LIBERO_ASSETS"
SHARED_ASSETS = Path(__file__).parents[2] / "shared" / "libero"

# Before torch first multiplies in bfloat16: virtual machines exist that announce AMX and have none,
# where oneDNN's AMX kernels end a process with an illegal instruction.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# Before phaser is first imported: annotations of the algorithm's layers become checks.
_CHECKED = ("core", "demos", "phases", "memory", "routing", "methods", "evaluation")
# The oldest jaxtyping cannot check them all (scripts/test_versions.sh).
if "PHASER_SHAPES_UNCHECKED" not in os.environ:
    install_import_hook([f"phaser.{layer}" for layer in _CHECKED], "beartype.beartype")

# Before the tables are first looked at: the made-up suite adds itself as an installed package does,
# by the entry point in its dist-info.
sys.path.append(str(Path(__file__).parent / "faults"))

# Fixtures that several folders share; a process can hold one Playwright only, so they come in here.
sys.path.append(str(Path(__file__).parent))
from browsers import browser, context  # noqa: E402, F401

# A busy machine is no defect: examples are bounded by number, never by time.
settings.register_profile("phaser", deadline=None)
settings.load_profile("phaser")


def pytest_collection_finish() -> None:
    """Leave what is loaded by now, a million objects, out of every later search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _cache_of_this_test_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One cache for all workers of a run, never the user's own."""
    # Before the cache is exchanged: what the user has fetched is in the user's own.
    from phaser.suites.libero.assets import fetched_assets

    found = [folder for folder in (SHARED_ASSETS, fetched_assets()) if folder.is_dir()]
    if found and not os.environ.get(LIBERO_ASSETS):
        os.environ[LIBERO_ASSETS] = str(found[0].resolve())
    base = tmp_path_factory.getbasetemp()
    shared: Path = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ["PHASER_CACHE"] = str(shared / "phaser-cache")


@pytest.fixture(scope="module", autouse=True)
def _freed_memory_goes_back() -> Iterator[None]:
    """A run tells its process to keep freed memory (`experiments.allocator`), for good. A worker of
    the tests makes hundreds of runs: gigabytes that nobody uses would stay with it."""
    yield
    gc.collect()
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture(autouse=True)
def _others_get_their_turn() -> Iterator[None]:
    """SVT-AV1 makes the thread real-time in which root encodes, for good; that worker would starve
    the other one and all that both wait for."""
    yield
    if hasattr(os, "SCHED_FIFO") and os.sched_getscheduler(0) == os.SCHED_FIFO:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
