"""Help and mistakes load no more than they show: what is heavy comes with the work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phaser.cli import main

HEAVY = ("torch", "transformers", "mujoco", "metaworld", "scipy", "accelerate", "openai", "h5py")
TOOLS = ("tyro", "rich", "cattrs")
WITHOUT_ARRAYS = (
    *("--help", "presets", "completion --help", "run --help", "grid --help", "record --help"),
    *("demo --help", "report --help", "watch --help", "convert --help", "diff --help"),
)
"""Commands that read no demonstration and no result."""
MEMORY = Path(__file__).parents[1] / "fixtures" / "memory_v1"
LISTED = """
import sys
from phaser.cli.main import execute
execute(sys.argv[1:])
print("\\nLOADED", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def loaded(words: str, folder: Path) -> set[str]:
    """Libraries that a command has loaded when it ends."""
    environment = {**os.environ, "PYTHONPATH": str(Path(main.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", LISTED, *words.split()],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=True,
    )
    return set(done.stderr.rpartition("LOADED")[2].split())


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "rnu",
        "presets",
        "completion --help",
        "methods",
        "run typo",
        "run metaworld-quick --fit.lr 1",
        "run metaworld-quick --bugdet 3",
        "grid typo",
        "grid metaworld-10 --fit.lr 1",
        "record typo",
        "demo --worker 2",
        "run --help",
        "grid --help",
        "record --help",
        "demo --help",
        "segment --help",
        "lerobot-train --help",
        "lerobot-train --stream me/a --replay.bugdet 3",
        "lerobot-train --stream me/a --save_checkpoint=false",
        "segment typo --out s.json",
        "doctor --help",
        f"memory show {MEMORY}",
        "memory verify --help",
        "report --help",
        "report /nonexistent",
        "phases stats libero-goal",
        "plan",
        "watch --help",
        "power --help",
        "annotate --help",
        "film --help",
        "diff --help",
        "convert --help",
    ],
)
def test_a_verb_that_begins_no_work_loads_nothing_heavy(words: str, tmp_path: Path) -> None:
    found = loaded(words, tmp_path)
    assert not found & {*HEAVY, *TOOLS}
    # Half of the time of what is left: arrays, and all that jaxtyping brings (asyncio).
    assert not found & {"numpy", "jaxtyping", "asyncio"} or words not in WITHOUT_ARRAYS
    # Columns of tables belong to datasets and results.
    assert "pyarrow" not in found or words.split()[0] not in ("presets", "methods", "memory")


@pytest.mark.parametrize("words", ["run --help-all", "grid --help-all"])
def test_help_on_settings_loads_the_parser_and_nothing_heavy(words: str, tmp_path: Path) -> None:
    found = loaded(words, tmp_path)
    assert "tyro" in found
    assert not found & {*HEAVY, "cattrs"}
