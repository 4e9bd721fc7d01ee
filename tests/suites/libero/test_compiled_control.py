"""Which robosuite a process has, compiled or not, and where compiled functions are kept."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from phaser.core.errors import BadInput
from phaser.suites.libero import runtime
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.protocol import protocol_named
from phaser.suites.libero.simulator import Simulator
from phaser.suites.libero.tasks import task_named

TASK = "put_the_bowl_on_the_plate"
PLACED = f"""
import numpy as np
from phaser.core.errors import BadInput
from phaser.suites.libero import runtime
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.protocol import changed, protocol_named
from phaser.suites.libero.simulator import Simulator
from phaser.suites.libero.tasks import task_named

def made(control):
    protocol = changed(protocol_named("phaser"), wait_steps=1)
    return Simulator(
        task_named({TASK!r}), protocol, assets=assets_folder("libero-goal"), control=control
    )
"""


def said_by(code: str, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLACED + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


@pytest.mark.usefixtures("needs_libero")
def test_what_is_not_compiled_is_refused_where_robosuite_is() -> None:
    protocol, assets = protocol_named("phaser"), assets_folder("libero-goal")
    Simulator(task_named(TASK), protocol, assets=assets, control="compiled")
    assert runtime.robosuite_is_compiled()
    with pytest.raises(BadInput, match=r"with numba .* 'fast' is without.* one kind per process$"):
        Simulator(task_named(TASK), protocol, assets=assets, control="fast")


@pytest.mark.usefixtures("needs_libero")
def test_what_is_compiled_is_refused_where_robosuite_is_not_and_fast_has_its_bits() -> None:
    code = """
    fast, move = made("fast"), np.array([0.4, 0.1, -0.8, 0.1, 0.0, 0.2, 1.0])
    after = []
    for step in (fast.step, fast.domain.step):
        fast.place(0)
        for _ in range(3):
            step(move)
        after.append(fast.physics())
    assert np.array_equal(*after)
    for control in ("compiled", "robosuite"):
        try:
            made(control)
        except BadInput as error:
            print(error)
    """
    refused = said_by(code).splitlines()
    assert len(refused) == 2
    assert all("robosuite runs without numba in this process" in line for line in refused)


@pytest.mark.usefixtures("needs_libero")
def test_compiled_functions_are_kept_in_the_cache_and_nowhere_else() -> None:
    protocol, assets = protocol_named("phaser"), assets_folder("libero-goal")
    Simulator(task_named(TASK), protocol, assets=assets, control="compiled")
    from robosuite.utils import control_utils

    from phaser.suites.libero import compiled_space

    ours, theirs = compiled_space._decoupled, control_utils.opspace_matrices
    kept = Path(os.environ["NUMBA_CACHE_DIR"])
    assert all(kept in Path(one.stats.cache_path).parents for one in (ours, theirs))


def test_a_cache_that_can_be_written_holds_a_folder_per_version(tmp_path, monkeypatch) -> None:
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path))
    monkeypatch.setattr(runtime.metadata, "version", lambda name: f"of-{name}")
    assert runtime._settle_numba_cache()
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "numba" / "robosuite-of-robosuite")
    assert os.environ["NUMBA_CACHE_DIR"] == numba.config.CACHE_DIR


@pytest.mark.slow
@pytest.mark.usefixtures("needs_libero")
def test_without_a_cache_that_can_be_written_it_compiles_each_time(tmp_path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "numba").write_text("a file where the folder would be")
    code = """
    compiled = made("compiled")
    compiled.place(0)
    import os
    from phaser.suites.libero import compiled_space
    print(compiled_space.macros.CACHE_NUMBA, "NUMBA_CACHE_DIR" in os.environ)
    """
    assert said_by(code, PHASER_CACHE=str(tmp_path / "cache")) == "False False"
