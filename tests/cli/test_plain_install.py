"""What a plain install can do: Replay and segment need no library of an extra."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = (
    "accelerate cattrs safetensors tokenizers tyro metaworld mujoco h5py av openai transformers"
)
BLOCK = f"""
import sys
for name in {EXTRAS.split()!r}:
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


def test_the_code_of_the_readme_runs(tmp_path: Path) -> None:
    code = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "memory" / "manifest.json").exists()


def test_segment_cuts_a_lerobot_dataset(tmp_path: Path) -> None:
    source = str(ROOT / "tests" / "fixtures" / "lerobot_v3")
    words = ["segment", source, "--layout", "metaworld", "--out", "stage_info.json"]
    done = run(f"from phaser.cli.main import main; main({words!r})", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "stage_info.json").exists()


@pytest.mark.parametrize("verb", [["methods"], ["phases", "stats", "libero-goal"], ["doctor"]])
def test_verbs_that_train_nothing_run(verb: list[str], tmp_path: Path) -> None:
    done = run(f"from phaser.cli.main import main; main({verb!r})", tmp_path)
    assert done.stdout
    assert not done.stderr


def test_a_verb_that_trains_says_what_to_install(tmp_path: Path) -> None:
    done = run("from phaser.cli.main import main; main(['run', 'metaworld-10'])", tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("run: pip install 'phaser-vla[train]'\n")
