"""Everything a user can cause and mend. Each message says what was found, expected and to be done.

The command line prints one line and exits with `exit_code`, which is 2 for most; anything outside
this family is a bug and crashes.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PhaserError(Exception):
    """Base of every error that the user, not the program, has to mend."""

    exit_code = 2
    """With which the command line ends."""


class BadInput(PhaserError):
    """A value, flag or file whose content does not make sense."""


class BrokenSegmentation(BadInput):
    """Phases that overlap, leave a gap, are empty or miss the end of the demonstration."""


class BrokenFile(BadInput):
    """A file that is damaged, of another version, or not what its name says."""


class BudgetMismatch(PhaserError):
    """Methods that would be compared do not hold the same number of frames."""


class MissingDependency(PhaserError):
    """A library, a GL driver or a weights package that this machine does not have."""


class CannotWrite(PhaserError):
    """A folder that is read-only, or a disk that is full."""


class NotKept(PhaserError):
    """A task that was learnt, but whose frames could not be stored."""


class UnknownName(BadInput):
    """A method, task, preset or suite that does not exist; names the nearest that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(names)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")
