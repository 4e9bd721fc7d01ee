"""`phaser libero fetch`: LIBERO's assets and published demonstrations into the cache."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phaser.cli.arguments import Parser, split_first
from phaser.cli.byte_progress import ByteWatch
from phaser.cli.output import print_json
from phaser.cli.text_table import counted, file_size, printable
from phaser.core.errors import BadInput, UnknownName
from phaser.core.folders import CACHE_VARIABLE
from phaser.suites.libero.fetch import Batch, Item, absent, bring, require_room, same_size
from phaser.suites.libero.listing import ASSETS, DEMONSTRATIONS
from phaser.suites.libero.tasks import ALIASES, SUITES
from phaser.suites.libero.wanted import Request, planned

USAGE = """\
usage: phaser libero fetch [--from FOLDER] [--suites NAME …] [--demonstrations] [flags]

fetch  bring LIBERO's meshes, textures and published demonstrations into the cache
"""
EPILOG = f"""\
Files come from the repositories that hf-libero names, {ASSETS.name} and
{DEMONSTRATIONS.name}, at a pinned commit (HF_ENDPOINT names another hub), or from
a folder: a checkout of LIBERO, an assets folder, a folder of HDF5 files. Each file is checked by
size and digest before it gets its name. The same command again goes on where the last one ended.
"""


def execute(arguments: Sequence[str]) -> int:
    name, words = split_first(arguments)
    if not name and ("-h" in words or "--help" in words):
        print(USAGE)
        return 0
    if not name:
        raise BadInput("libero: say fetch first; see phaser libero --help")
    if name != "fetch":
        raise UnknownName("action of phaser libero", name, ["fetch"])
    return _fetch(_parser().parse(words))


def _fetch(chosen: Any) -> int:
    batches = planned(
        Request(
            suites=tuple(chosen.suites),
            assets=not chosen.no_assets,
            demonstrations=chosen.demonstrations,
            folder=chosen.folder,
            assets_revision=chosen.assets_revision,
            demonstrations_revision=chosen.demonstrations_revision,
        )
    )
    with ByteWatch(sys.stderr if chosen.json else sys.stdout) as watch:
        missing = [_absent(batch, watch) for batch in batches]
        for batch, items in zip(batches, missing, strict=True):
            for line in _lines(batch, items):
                watch.say(line)
        if not chosen.dry_run:
            require_room(batches[0].folder, sum(item.size for items in missing for item in items))
            for batch, items in zip(batches, missing, strict=True):
                watch.begin(f"{batch.what:14}", sum(item.size for item in items))
                bring(batch, items, watch.add)
    if chosen.json:
        pairs = zip(batches, missing, strict=True)
        print_json({"dry_run": chosen.dry_run, "batches": [_as_json(*pair) for pair in pairs]})
    elif not chosen.dry_run:
        for batch in batches:
            print(f"{batch.what} of {', '.join(batch.suites)}: {batch.folder}", flush=True)
    return 0


def _absent(batch: Batch, watch: ByteWatch) -> tuple[Item, ...]:
    watch.begin(f"checking {batch.what}", sum(item.size for item, _ in same_size(batch)))
    return absent(batch, watch.add)


def _lines(batch: Batch, items: Sequence[Item]) -> list[str]:
    """Say what will be fetched, before it is."""
    revision = f" at {batch.revision[:12]}" if batch.revision else ""
    files = f"{counted(len(batch.items), 'file')}, {file_size(batch.num_bytes)}"
    left = f"{counted(len(items), 'file')}, {file_size(sum(item.size for item in items))}"
    todo = "all of them are here" if not items else f"to fetch: {left}"
    return [
        f"{batch.what} of {', '.join(batch.suites)}: {files} in {batch.source}{revision}; {todo}",
        *(printable(f"left out: {line}") for line in batch.left_out),
    ]


def _as_json(batch: Batch, items: Sequence[Item]) -> dict[str, object]:
    return {
        "what": batch.what,
        "source": batch.source,
        "revision": batch.revision,
        "suites": batch.suites,
        "left_out": batch.left_out,
        "folder": str(batch.folder),
        "num_files": len(batch.items),
        "num_bytes": batch.num_bytes,
        "missing_files": len(items),
        "missing_bytes": sum(item.size for item in items),
    }


def _parser() -> Parser:
    parser = Parser(
        "libero fetch",
        "Bring LIBERO's assets, and on request its published demonstrations, into the cache\n"
        f"(its folder is named by {CACHE_VARIABLE}; see phaser doctor).",
        epilog=EPILOG,
    )
    parser.add_argument(
        "--from", dest="folder", type=Path, metavar="FOLDER", help="copy from here, without a hub"
    )
    parser.add_argument(
        "--suites",
        nargs="+",
        default=[],
        metavar="NAME",
        help=f"{', '.join((*SUITES, *ALIASES))} (default: all; of a folder, those that it has)",
    )
    parser.add_argument(
        "--demonstrations", action="store_true", help="also the HDF5 files, 50 episodes per task"
    )
    parser.add_argument("--no-assets", action="store_true", help="only the demonstrations")
    parser.add_argument("--dry-run", action="store_true", help="say what would be fetched")
    for repository, what in ((ASSETS, "assets"), (DEMONSTRATIONS, "demonstrations")):
        parser.add_argument(
            f"--{what}-revision",
            default=repository.revision,
            metavar="COMMIT",
            help=f"of {repository.name} (default: {repository.revision[:12]}…)",
        )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser
