"""The first lines of Python that a newcomer reads do what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_first_python_in_the_readme_runs_as_printed(tmp_path: Path) -> None:
    block = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    assert "Replay(" in block
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
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
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "memory" / "manifest.json").exists()
