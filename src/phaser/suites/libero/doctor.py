"""`phaser doctor libero`: whether LIBERO runs here as it ran where results were made.

Each check is one line; a failed one ends with the command that mends it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from phaser.core.errors import BadInput, MissingDependency, PhaserError
from phaser.suites.checks import Check, checked, in_child
from phaser.suites.gl import APT_PACKAGES, LIBRARIES, VARIABLE, choose_gl, probe
from phaser.suites.libero.assets import INSTALL, assets_folder
from phaser.suites.libero.init_states import (
    init_states,
    original_file,
    pinned_hashes,
    read_original,
)
from phaser.suites.libero.runtime import PACKAGES
from phaser.suites.libero.tasks import SUITES

EXTRA = "pip install 'phaser-vla[libero]'"
EXACT = {"hf-libero": "0.1.4", "robosuite": "1.4.0", "bddl": "1.0.1", "mujoco": "3.3.0"}
LIBRARIES_OF_LIBERO = (
    *("cloudpickle", "easydict", "future", "gymnasium", "matplotlib", "numba"),
    *("opencv-python-headless", "pyyaml", "scipy", "termcolor"),
)
GOLDEN_SUITE = "libero-goal"
GOLDEN_TIMEOUT_S = 600
_REPLAY = "from phaser.suites.libero.doctor import replay; replay()"


def checks(required: str = GOLDEN_SUITE) -> Iterator[Check]:
    """All checks, each made even where an earlier one failed; assets are needed of one suite."""
    for package in EXACT:
        yield checked(package, partial(_exact, package))
    yield checked("libraries", _libraries)
    yield checked("GL", _gl)
    for suite in SUITES:
        needed = suite in (required, GOLDEN_SUITE)
        yield checked(f"assets {suite}", partial(_assets, suite), needed=needed)
    yield checked("initial states", _initial_states)
    yield _golden()


def replay() -> None:
    """Replay the golden episode and say what differs. Run in a process."""
    from phaser.suites.libero import golden as episode

    try:
        golden, protocol = episode.golden(), episode.protocol_named(episode.PROTOCOL)
        found = episode.replay(golden.actions, protocol, assets_folder(GOLDEN_SUITE))
    except PhaserError as error:
        sys.exit(str(error))
    wrong = [f"protocol {line}" for line in episode.protocol_differences(golden, protocol)]
    wrong += episode.differences(golden.outcome, found)
    same = "the recorded frame" if found.frame_hash == golden.outcome.frame_hash else "another"
    seen = f"first frame {found.frame_hash[:12]}, {same}"
    print(json.dumps({"steps": found.solved_at, "wrong": wrong, "seen": seen}))


def _assets(suite: str) -> str:
    return str(assets_folder(suite))


def _exact(package: str) -> str:
    expected, mend = EXACT[package], INSTALL if package in PACKAGES else EXTRA
    try:
        found = version(package)
    except PackageNotFoundError as error:
        raise MissingDependency(f"not installed; run: {mend}") from error
    if found != expected:
        raise MissingDependency(f"{found}, expected {expected}; run: {mend}")
    return found


def _libraries() -> str:
    """What LIBERO and robosuite import; any version that pip accepts."""
    absent = []
    for package in LIBRARIES_OF_LIBERO:
        try:
            version(package)
        except PackageNotFoundError:
            absent.append(package)
    if absent:
        raise MissingDependency(f"{', '.join(absent)} not installed; run: {EXTRA}")
    return f"{len(LIBRARIES_OF_LIBERO)} packages that LIBERO imports"


def _gl() -> str:
    """Every back end is tried; the one that simulators will use must be among those that draw."""
    backends = (os.environ[VARIABLE].lower(),) if os.environ.get(VARIABLE) else ("egl", "osmesa")
    if not set(backends) <= LIBRARIES.keys():
        raise BadInput(f"{VARIABLE}={backends[0]!r} draws on no server; run: unset {VARIABLE}")
    found = {backend: probe(backend) for backend in backends}
    said = "; ".join(f"{backend}: {words}" for backend, (_, words) in found.items())
    drawing = [backend for backend, (well, _) in found.items() if well]
    if not drawing:
        unset = f"unset {VARIABLE}, or " if os.environ.get(VARIABLE) else ""
        raise MissingDependency(f"{said}; run: {unset}apt-get install {APT_PACKAGES['osmesa']}")
    used = choose_gl({**os.environ})
    if used not in drawing:
        raise MissingDependency(f"{said}; run: export {VARIABLE}={drawing[0]}")
    return f"{said}; used: {used}"


def _initial_states() -> str:
    """The originals by their hashes, and that what is kept of them can be read back."""
    count = 0
    for suite, tasks in SUITES.items():
        for task in tasks:
            read_original(original_file(suite, task), pinned_hashes(suite, task)["file"])
            count += len(init_states(suite, task))
    return f"{count} states of {sum(map(len, SUITES.values()))} tasks, hashes as pinned"


def _golden() -> Check:
    """In a process of its own, like everything that draws."""
    name = "golden episode"
    well, said = in_child(_REPLAY, timeout_s=GOLDEN_TIMEOUT_S)
    if not well:
        return Check(name=name, ok=False, detail=said)
    answer = json.loads(said.splitlines()[-1])
    if answer["wrong"]:
        more = f" (and {len(answer['wrong']) - 1} more)" if len(answer["wrong"]) > 1 else ""
        detail = f"{answer['wrong'][0]}{more}; run: {EXTRA} and {INSTALL}"
        return Check(name=name, ok=False, detail=detail)
    detail = f"solved at step {answer['steps']} as recorded; {answer['seen']}"
    return Check(name=name, ok=True, detail=detail)
