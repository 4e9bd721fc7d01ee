"""Import LIBERO so that it asks nothing, fetches nothing and writes to a private folder only.

As it comes, `import libero.libero` asks a question on stdin, writes to the home folder, looks for
assets on a hub, and robosuite under it opens a log file that belongs to whoever was first.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib import metadata
from io import StringIO
from pathlib import Path
from types import ModuleType

from phaser.core.errors import BadInput, MissingDependency
from phaser.core.folders import cache_folder
from phaser.suites.libero.assets import package_folder
from phaser.suites.mujoco_library import mujoco

INSTALL = (
    "run: pip install 'phaser-vla[libero]', then "
    "pip install --no-deps hf-libero==0.1.4 robosuite==1.4.0 bddl==1.0.1"
)
PACKAGES = {"hf-libero": "libero", "robosuite": "robosuite", "bddl": "bddl"}


def libero_envs(*, compiled: bool | None = None) -> ModuleType:
    """`libero.libero.envs`, which builds simulators; torch is not imported by it.

    `compiled`: whether robosuite compiles its controller with numba, as it does by default. Whoever
    asks first decides for the whole process, and results differ in the last bit.
    """
    found = robosuite_is_compiled()
    if found is None:
        return _imported(compiled is not False)
    if compiled not in (None, found):
        have, want = ("with", "without") if found else ("without", "with")
        raise BadInput(
            f"robosuite runs {have} numba in this process and cannot be imported again {want} it: "
            "control 'fast' is without, 'compiled' and 'robosuite' are with it; "
            "use one kind per process"
        )
    return _imported(found)


def robosuite_is_compiled() -> bool | None:
    """None as long as nobody has decided it."""
    macros = sys.modules.get("robosuite.macros")
    return None if macros is None else bool(macros.ENABLE_NUMBA)


@cache
def _imported(compiled: bool) -> ModuleType:
    require_packages()
    mujoco()
    with _quiet():
        _settle_macros(compiled)
        _settle_paths()
        try:
            import libero.libero.envs as envs
        except ImportError as error:
            raise MissingDependency(f"LIBERO does not import ({error}); {INSTALL}") from error
    return envs


def use_assets(folder: Path) -> None:
    """From now on simulators are built from these meshes and textures, and from no others."""
    libero_envs()
    sys.modules["libero.libero"]._assets_path_cache = str(folder)  # type: ignore[attr-defined]


def require_packages() -> None:
    for package, module in PACKAGES.items():
        if importlib.util.find_spec(module) is None:
            raise MissingDependency(f"{package} is not installed; {INSTALL}")


def versions() -> dict[str, str]:
    """Versions that decide what is simulated and drawn."""
    return {name: metadata.version(name) for name in (*PACKAGES, "mujoco", "numpy")}


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        yield


def _settle_macros(compiled: bool) -> None:
    """robosuite's settings, put in place before it reads them: no log file, compiled or not."""
    found = importlib.util.find_spec("robosuite")
    assert found is not None
    assert found.submodule_search_locations
    path = Path(next(iter(found.submodule_search_locations))) / "macros.py"
    spec = importlib.util.spec_from_file_location("robosuite.macros", path)
    assert spec is not None
    assert spec.loader is not None
    macros = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(macros)
    settings = {
        "FILE_LOGGING_LEVEL": None,
        "CONSOLE_LOGGING_LEVEL": "ERROR",
        "ENABLE_NUMBA": compiled,
        "CACHE_NUMBA": compiled and _settle_numba_cache(),
    }
    for name, value in settings.items():
        setattr(macros, name, value)
    sys.modules.setdefault("robosuite.macros", macros)


def _settle_numba_cache() -> bool:
    """Keep compiled functions in our cache, not beside their sources; whether that is possible.

    numba does not notice when a function changes that another one calls, hence the version.
    """
    folder = Path(
        os.environ.get("NUMBA_CACHE_DIR")
        or cache_folder() / "numba" / f"robosuite-{metadata.version('robosuite')}"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if (numba := sys.modules.get("numba")) is not None:
        numba.config.CACHE_DIR = str(folder)
    return True


def _settle_paths() -> None:
    """LIBERO's own configuration file, in a folder that goes with this process."""
    root = package_folder()
    folder = Path(tempfile.mkdtemp(prefix="phaser-libero-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    paths = {
        "benchmark_root": root,
        "bddl_files": root / "bddl_files",
        "init_states": root / "init_files",
        "datasets": folder / "datasets",
        "assets": root / "assets",
    }
    lines = (f'{name}: "{path}"\n' for name, path in paths.items())
    (folder / "config.yaml").write_text("".join(lines))
    os.environ["LIBERO_CONFIG_PATH"] = str(folder)
    # robosuite imports matplotlib, which makes a folder of its own where it is first imported.
    os.environ.setdefault("MPLCONFIGDIR", str(folder / "matplotlib"))
