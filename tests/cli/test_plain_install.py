"""What a plain install can do by its verbs; Replay and segment: tests/distribution."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phaser.core.extras import EXTRAS

ROOT = Path(__file__).parents[2]
BLOCK = f"""
import sys
for name in {list(EXTRAS)!r}:
    sys.modules[name] = None
"""


def run(code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BLOCK + code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONUTF8": "1",
            "OMP_NUM_THREADS": "1",
            "PHASER_CACHE": os.environ["PHASER_CACHE"],
        },
    )


@pytest.mark.parametrize("verb", [["methods"], ["phases", "stats", "libero-goal"], ["doctor"]])
def test_verbs_that_train_nothing_run(verb: list[str], tmp_path: Path) -> None:
    done = run(f"from phaser.cli.main import main; main({verb!r})", tmp_path)
    assert done.stdout
    assert not done.stderr


def test_a_verb_that_trains_says_what_to_install(tmp_path: Path) -> None:
    done = run("from phaser.cli.main import main; main(['run', 'metaworld-10'])", tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("run: pip install 'phaser-vla[cli]'\n")
