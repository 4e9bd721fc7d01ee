"""LIBERO's 50 official initial states of each task, checked by hash and read without pickle.

hf-libero ships them as torch zip files that hold one pickled numpy array, and loads them with
everything a pickle may do. Here the zip is opened only when its SHA-256 is the pinned one,
`pickletools` lists the opcodes without executing any, and the numbers are the one long text among
them. They are converted once to safetensors.
"""

from __future__ import annotations

import hashlib
import io
import pickletools
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Float64
from safetensors import SafetensorError
from safetensors.numpy import load, save

from phaser.core.errors import BrokenFile, UnknownName
from phaser.core.files import read_bytes, read_json, write_bytes
from phaser.core.folders import cache_folder
from phaser.suites.libero.assets import INSTALL, package_folder
from phaser.suites.libero.tasks import SUITES, suite_named

NUM_STATES = 50
PINNED = Path(__file__).with_name("init_states.json")


def init_states(suite: str, task: str) -> Float64[np.ndarray, "50 numbers"]:
    """The states a simulator of the task starts from; row k is LIBERO's initial state k."""
    suite = suite_named(suite)
    pinned = pinned_hashes(suite, task)
    kept = converted_file(suite, task)
    states = _converted(kept, pinned["states"])
    if states is None:
        states = read_original(original_file(suite, task), pinned["file"])
        write_bytes(kept, save({"states": states}))
    return states


def original_file(suite: str, task: str) -> Path:
    """The file in the installed hf-libero."""
    return package_folder() / "init_files" / suite.replace("-", "_") / f"{task}.pruned_init"


def converted_file(suite: str, task: str) -> Path:
    return cache_folder() / "libero" / "init_states" / suite / f"{task}.safetensors"


def pinned_hashes(suite: str, task: str) -> dict[str, str]:
    """SHA-256 of the original file ("file") and of its numbers ("states")."""
    if task not in SUITES[suite]:
        raise UnknownName(f"task of {suite}", task, SUITES[suite])
    hashes: dict[str, str] = _pinned()[suite][task]
    return hashes


def read_original(path: Path, expected: str) -> Float64[np.ndarray, "50 numbers"]:
    """The array of one original file, if it is the pinned one."""
    if not path.is_file():
        raise BrokenFile(f"{path} does not exist; reinstall: {INSTALL} --force-reinstall")
    content = read_bytes(path)
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise BrokenFile(
            f"{path} has SHA-256 {found[:16]}…, expected {expected[:16]}…; it is damaged or of "
            f"another version: {INSTALL} --force-reinstall"
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        program = archive.read("archive/data.pkl")
    texts = (argument for _, argument, _ in pickletools.genops(program))
    # Numpy's pickles of protocol 2 hold raw bytes as Latin-1 text.
    numbers = max((text for text in texts if isinstance(text, str)), key=len)
    return np.frombuffer(numbers.encode("latin-1"), "<f8").reshape(NUM_STATES, -1).copy()


def _converted(path: Path, expected: str) -> Float64[np.ndarray, "50 numbers"] | None:
    """The converted states, or none when they are not there or not the pinned numbers."""
    try:
        states: np.ndarray = load(read_bytes(path))["states"]
    except (BrokenFile, SafetensorError, KeyError):
        return None
    if states.ndim != 2 or digest(states) != expected:
        # A damaged copy costs one more conversion.
        return None
    return states


def digest(states: np.ndarray) -> str:
    """SHA-256 of the numbers."""
    return hashlib.sha256(np.ascontiguousarray(states, "<f8").tobytes()).hexdigest()


@cache
def _pinned() -> dict[str, dict[str, dict[str, str]]]:
    hashes: dict[str, dict[str, dict[str, str]]] = read_json(PINNED)
    return hashes
