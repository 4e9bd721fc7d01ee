"""The installed command `phaser`, and a look at whose package `phaser` it would start.

The public index has an unrelated distribution called `phaser`, a library for data pipelines, which
installs a package of the same name. Whoever typed `pip install phaser` has its files in place of
ours, or over them; so the command lives outside of that package and says what to do.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution

OURS, OTHER = "phaser-vla", "phaser"
PACKAGE_FILE = "phaser/__init__.py"
MARK = '"phaser.replay.replay"'
"""Stands in our package file and in no other."""


def main() -> None:
    """The installed command; refuses to run another package's code."""
    found = imported_file()
    if found is None or not is_ours(found):
        print(f"phaser: {trouble()}", file=sys.stderr)
        sys.exit(2)
    from phaser.cli.main import main as run

    run()


def trouble() -> str | None:
    """What is wrong with the package `phaser` here, in one line with its remedy; None: nothing."""
    found, other, ours = imported_file(), _installed(OTHER), _installed(OURS)
    if found is None:
        return f"the package phaser is not there; run: pip install --force-reinstall {OURS}"
    if is_ours(found) and other is None:
        return None
    name = f"{OTHER} {other.version}" if other else "another package"
    mend = f"pip uninstall --yes {OTHER}"
    # Both in one folder: removing theirs removes files of ours, whoever wrote them last.
    if ours is not None and PACKAGE_FILE in map(str, ours.files or ()):
        mend += f" && pip install --force-reinstall --no-deps {OURS}"
    if not is_ours(found):
        return f"{found} is of {name}, an unrelated package, and hides PHASER's; run: {mend}"
    theirs = other.locate_file(PACKAGE_FILE) if other else "?"
    hidden = "has overwritten that" if str(theirs) == str(found) else f"hides {theirs}"
    return f"PHASER's {found} {hidden} of {name}, an unrelated package; run: {mend}"


def imported_file() -> Path | None:
    """The file that `import phaser` would run; nothing is imported."""
    spec = find_spec(OTHER)
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def is_ours(package_file: Path) -> bool:
    return MARK in package_file.read_text(encoding="utf-8", errors="replace")


def _installed(name: str) -> Distribution | None:
    # Imported here: it takes a quarter of the time in which `phaser --help` answers.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
