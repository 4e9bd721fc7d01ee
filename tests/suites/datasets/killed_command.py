"""Run a phaser command that ends itself with SIGKILL inside a chosen write.

python killed_command.py PART COUNT run … : at the COUNTth write of a file whose path holds PART.
"""

import os
import signal
import sys

from phaser.cli import main
from phaser.core import files


def _kill_at(part, count):
    seen = 0

    def reached(stage, path):
        nonlocal seen
        if stage == "synced" and part in str(path):
            seen += 1
            if seen == count:
                os.kill(os.getpid(), signal.SIGKILL)

    return reached


if __name__ == "__main__":
    files.reached = _kill_at(sys.argv[1], int(sys.argv[2]))
    raise SystemExit(main.execute(sys.argv[3:]))
