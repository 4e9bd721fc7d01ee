"""`phaser doctor`: what this machine has, what is missing, and what to do about it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from phaser.cli.arguments import Parser
from phaser.cli.main import USER_ERROR
from phaser.cli.output import print_json, require_writable
from phaser.core.errors import PhaserError
from phaser.core.folders import CACHE_VARIABLE, cache_folder
from phaser.encoders import efficientnet, minilm
from phaser.encoders.weights import packaged_file
from phaser.experiments.provenance import versions
from phaser.suites.gl import choose_gl

FREE_BYTES_NEEDED = 2 * 10**9
SIMULATION_TIMEOUT_S = 120
MINILM_FILE = "model/model.safetensors"
EFFICIENTNET_FILE = "models/efficientnet-lite0-57934424.pth"
_SIMULATE = "from phaser.cli.doctor import simulate; simulate()"


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One line of the doctor."""

    name: str
    ok: bool
    detail: str


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("doctor", "Check versions, GL, cache, weights and the simulator.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse(arguments)
    found = list(checks())
    if chosen.json:
        print_json([asdict(check) for check in found])
    else:
        width = max(len(check.name) for check in found)
        for check in found:
            sign = "ok     " if check.ok else "missing"
            print(f"{sign}  {check.name.ljust(width)}  {check.detail}")
    return 0 if all(check.ok for check in found) else USER_ERROR


def checks() -> Iterator[Check]:
    """All checks; each is made even where an earlier one failed."""
    for package, version in versions().items():
        ok = version != "not installed"
        advice = "" if ok else "; run: pip install 'phaser-vla[metaworld]'"
        yield Check(name=package, ok=ok, detail=version + advice)
    yield _checked("GL", lambda: f"MUJOCO_GL={choose_gl()}")
    yield _checked("cache", _cache)
    yield _checked("weights MiniLM", lambda: _weights(minilm, MINILM_FILE))
    yield _checked("weights EfficientNet", lambda: _weights(efficientnet, EFFICIENTNET_FILE))
    yield _simulation()


def simulate() -> None:
    """One step of one task with a rendered frame; says how bright it is. Run in a process."""
    from phaser.suites.metaworld_env import MetaWorldEnv
    from phaser.suites.metaworld_tasks import task_named

    env = MetaWorldEnv(task_named("reach"))
    env.reset(0)
    env.step(np.zeros(4, np.float32))
    images = env.observe().images
    if not all(image.std() > 1 for image in images.values()):
        sys.exit("the rendered frame is blank; try another MUJOCO_GL (osmesa, egl)")
    print(", ".join(f"{name} {image.shape[1]}×{image.shape[0]}" for name, image in images.items()))


def _checked(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name=name, ok=True, detail=look())
    except PhaserError as error:
        return Check(name=name, ok=False, detail=str(error))


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


def _weights(module: object, relative: str) -> str:
    package, distribution = module.PACKAGE, module.DISTRIBUTION  # type: ignore[attr-defined]
    packaged_file(package, relative, distribution=distribution)
    return str(distribution)


def _simulation() -> Check:
    """In a process of its own: a broken GL driver may kill the process that asks it to draw."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _SIMULATE],
            capture_output=True,
            text=True,
            timeout=SIMULATION_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return Check(name="simulation", ok=False, detail="one step took more than two minutes")
    if done.returncode == 0:
        return Check(name="simulation", ok=True, detail=f"one step, {done.stdout.strip()}")
    said = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
    return Check(name="simulation", ok=False, detail=said[-1])
