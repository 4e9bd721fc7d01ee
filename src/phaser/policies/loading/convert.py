"""Converts published `.pt` files to safetensors, once and in a process of its own.

A `.pt` file is a pickle. It is read with torch's `weights_only`, by a child process that imports
nothing of ours, gets no environment and writes one temporary file. A run never opens such a file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from safetensors import SafetensorError, safe_open

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import require_file, write_atomically

CHILD = Path(__file__).with_name("convert_child.py")
TIMEOUT_S = 3600
WARNING = (
    "a .pt file is a pickle; it is read with weights_only, in a process of its own. Convert only "
    "files whose publisher you trust"
)


def pickled_files(folder: Path) -> list[Path]:
    """The `.pt` files of a checkpoint folder."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder; expected the folder of a published checkpoint")
    found = sorted([*folder.glob("*.pt"), *(folder / "checkpoints").glob("*.pt")])
    if not found:
        raise BadInput(f"{folder} has no .pt files; there is nothing to convert")
    return found


def convert(path: Path, *, overwrite: bool = False) -> Path | None:
    """Write the tensors of a `.pt` file as safetensors beside it.

    Args:
        path: The `.pt` file; it stays as it is.
        overwrite: Convert again where the result exists.

    Returns:
        The new file; None if it was there already.
    """
    require_file(path)
    target = path.with_suffix(".safetensors")
    if target.exists() and not overwrite:
        return None
    write_atomically(target, lambda temporary: _in_child(path, temporary))
    return target


def _in_child(path: Path, temporary: Path) -> None:
    with tempfile.TemporaryDirectory() as elsewhere:
        try:
            done = subprocess.run(
                [sys.executable, "-I", str(CHILD), str(path.resolve()), str(temporary.resolve())],
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                cwd=elsewhere,
                env={},
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise BrokenFile(f"{path} was not converted within an hour; is it damaged?") from error
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BrokenFile(f"{path} was not converted: {said}; nothing was written")
    try:
        with safe_open(temporary, framework="numpy") as content:
            empty = not content.keys()
    except SafetensorError as error:
        raise BrokenFile(f"{path} was not converted: {error}; nothing was written") from error
    if empty:
        raise BrokenFile(f"{path} holds no tensors; nothing was written")
