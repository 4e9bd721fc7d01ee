"""An environment that holds a wheel and what the wheel asks for, made in seconds.

Nothing is downloaded: the libraries that the wheel's metadata names, and those that these name, are
linked from the environment of the tests. A library that the wheel does not ask for is not there.
"""

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement


class EmptyEnvironment:
    """A virtual environment without packages, to which a wheel is added."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.commands = folder / "bin"
        paths = {"base": str(folder), "platbase": str(folder)}
        self.packages = Path(sysconfig.get_path("purelib", vars=paths))

    def install(self, wheel: Path) -> None:
        """Install a wheel by pip, without what it asks for."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.commands / "python"), "install"]
        options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
        quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1"}
        subprocess.run([*pip, *options, str(wheel)], check=True, env={**os.environ, **quiet})

    def link(self, requirements: Iterable[str]) -> None:
        """Add what is asked for, and all that asks for in turn, as links."""
        for found in closure(requirements):
            place = Path(str(found.locate_file("")))
            for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                if not (self.packages / name).exists():
                    (self.packages / name).symlink_to(place / name)

    def run(self, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run an installed command in a folder, with nothing of this process's settings."""
        return subprocess.run(
            [str(self.commands / words[0]), *words[1:]],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONUTF8": "1",
                "OMP_NUM_THREADS": "1",
                "HOME": str(folder),
            },
        )


def closure(requirements: Iterable[str]) -> list[Distribution]:
    """The installed distributions that requirements name, directly or through others."""
    found: dict[str, Distribution] = {}
    seen: set[str] = set()
    waiting = list(requirements)
    while waiting:
        text = waiting.pop()
        asked = Requirement(text)
        if text in seen:
            continue
        seen.add(text)
        one = found.setdefault(asked.name, distribution(asked.name))
        for inner in map(Requirement, one.requires or ()):
            wanted = [{"extra": extra} for extra in ("", *asked.extras)]
            if inner.marker is None or any(map(inner.marker.evaluate, wanted)):
                inner.marker = None
                waiting.append(str(inner))
    return list(found.values())
