"""Where a number came from: versions, commit, and the command that repeats it."""

from __future__ import annotations

import platform
import shlex
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from phaser import __version__
from phaser.experiments.run import Run

PACKAGES = ("torch", "numpy", "metaworld", "mujoco", "accelerate", "pyarrow", "safetensors")


def versions() -> dict[str, str]:
    """Versions of all that can change a result."""
    found = {"phaser": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def commit() -> str:
    """The commit of a source checkout, with "+changes" where files differ from it."""
    source = Path(__file__).parent
    head = _git(source, "rev-parse", "HEAD")
    if not head:
        return "not a git checkout"
    return head + ("+changes" if _git(source, "status", "--porcelain", "--", ".") else "")


def command_of(run: Run) -> str:
    """The command that repeats this run; settings changed by other flags are in run.json."""
    words = ["phaser", "run", run.preset, "--method", run.method_name, "--seed", str(run.seed)]
    words += ["--suite.order", run.suite.order]
    if run.frames_per_task:
        words += ["--budget", str(run.frames_per_task)]
    return shlex.join(words)


def _git(folder: Path, *arguments: str) -> str:
    try:
        finished = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return finished.stdout.strip() if finished.returncode == 0 else ""
