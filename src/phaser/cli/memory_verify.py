"""`phaser memory verify DIR`: every byte of every file, one line per file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from phaser.cli.arguments import Parser
from phaser.cli.output import print_json
from phaser.cli.text_table import columns, file_size, printable
from phaser.core.errors import BrokenFile
from phaser.core.files import sha256
from phaser.memory.manifest import MANIFEST, read_manifest
from phaser.memory.references import reference_of
from phaser.memory.store import Store

INTACT, BROKEN = "intact", "broken"
CLEARED = "left by a killed process; the next writer clears it"
UNNAMED = "not named by the manifest; left alone"


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("memory verify", "Read every byte of a memory and name what is damaged.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the memory's folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    chosen = parser.parse(arguments)
    store = _opened(chosen.folder)
    found = check_files(store) | _check_datasets(store)
    broken = {name: complaint for name, complaint in found.items() if complaint}
    if chosen.json:
        states = [{"file": name, "intact": not said, "found": said} for name, said in found.items()]
        print_json(
            {
                "folder": str(chosen.folder),
                "intact": not broken,
                "files": states,
                "left_by_a_killed_process": store.leftovers(),
            }
        )
    else:
        rows = [
            (name, _size(store.path / name), BROKEN if said else INTACT)
            for name, said in found.items()
        ]
        rows += [
            (name, _size(store.path / name), CLEARED if name.endswith(".tmp") else UNNAMED)
            for name in store.leftovers()
        ]
        print("\n".join(columns([("file", "size", "state"), *rows], right=(1,))), flush=True)
    if broken:
        name, complaint = next(iter(broken.items()))
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        raise BrokenFile(f"{name} is not as it was written{more}: {complaint}")
    if not chosen.json:
        print(f"\nall {len(found)} files are as they were written: {chosen.folder.resolve()}")
    return 0


def check_files(store: Store) -> dict[str, str]:
    """What is wrong with each file, or nothing; a bar on a terminal, since disks are slow."""
    # Imported here: help and mistakes show no bars.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    names = store.files()
    sizes = {name: _bytes(store.path / name) for name in names}
    layout = (
        BarColumn(24),
        TextColumn("{task.percentage:.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    console = Console(file=sys.stderr, highlight=False)
    found: dict[str, str] = {}
    with Progress(
        *layout, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        bar = bars.add_task("", total=sum(sizes.values()))
        for name in names:
            bars.update(bar, description=printable(name))
            try:
                store.verify_file(name)
                found[name] = ""
            except BrokenFile as error:
                found[name] = printable(" ".join(str(error).split()))
            bars.advance(bar, sizes[name])
    return found


def _check_datasets(store: Store) -> dict[str, str]:
    """What is wrong with each dataset that the memory refers to; every byte of it is read."""
    found: dict[str, str] = {}
    for task in store.tasks:
        reference = reference_of(task)
        if reference is None:
            continue
        name = f"dataset {reference.root}"
        try:
            reference.check_files(sha256)
            found.setdefault(name, "")
        except BrokenFile as error:
            found[name] = printable(" ".join(str(error).split()))
    return found


def _opened(folder: Path) -> Store:
    """Also where a shard is gone or cut off: a whole manifest says what should be there."""
    try:
        return Store.open(folder)
    except BrokenFile:
        if not (folder / MANIFEST).exists():
            raise
        return Store(folder, read_manifest(folder))


def _bytes(path: Path) -> int:
    return path.lstat().st_size if path.is_file() else 0


def _size(path: Path) -> str:
    return file_size(_bytes(path)) if path.is_file() else "–"
