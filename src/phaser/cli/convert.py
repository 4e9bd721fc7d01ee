"""`phaser convert FOLDER`: published `.pt` weights to safetensors, once, in a separate process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from phaser.cli.arguments import Parser
from phaser.cli.text_table import file_size
from phaser.core.errors import BadInput


def execute(arguments: Sequence[str]) -> int:
    parser = Parser(
        "convert",
        "Write the tensors of a checkpoint's .pt files as safetensors beside them. A run never\n"
        "opens a .pt file, which is a pickle; convert only files whose publisher you trust.",
        usage="phaser convert FOLDER [--overwrite]",
    )
    parser.add_argument("folder", nargs="?", default="", help="the folder of a checkpoint")
    parser.add_argument("--overwrite", action="store_true", help="convert again what was converted")
    chosen = parser.parse(arguments)
    if not chosen.folder:
        raise BadInput("convert: name the folder of a checkpoint; see phaser convert --help")
    from phaser.policies.loading.convert import WARNING, convert, pickled_files

    files = pickled_files(Path(chosen.folder))
    print(f"phaser: {WARNING}", file=sys.stderr)
    for path in files:
        made = convert(path, overwrite=chosen.overwrite)
        if made is None:
            print(f"{path.with_suffix('.safetensors')} is there already")
        else:
            print(f"{made} ({file_size(made.stat().st_size)})")
    return 0
