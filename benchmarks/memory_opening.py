"""`python -m benchmarks.memory_opening DIR`: seconds and memory that opening takes, in a process
that has opened nothing before."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from phaser.memory.store import Store


def opening(folder: Path) -> dict[str, float]:
    """Asked of a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory_opening", str(folder)]
    same_modules = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=same_modules)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    before, begin = _resident_bytes(), time.perf_counter()
    store = Store.open(folder)
    opened = time.perf_counter()
    num_frames = store.memory.num_frames
    found = {
        "frames": num_frames,
        "open_s": opened - begin,
        "phases_s": time.perf_counter() - opened,
        "resident_bytes": _resident_bytes() - before,
    }
    print(json.dumps(found))


def _resident_bytes() -> int:
    """Memory of this process that is its own or file-backed and touched."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
