"""Which task an HDF5 file demonstrates, from the attributes its recorder left.

LIBERO writes `problem_info` (JSON with `language_instruction`) and the name or text of the BDDL
file; RoboCasa writes `ep_meta` with `lang` for each demonstration; robomimic and robosuite write
`env_args` or `env` with the environment's name, whose words then stand for the instruction.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from phaser.core.demonstration import Task
from phaser.core.errors import BadInput
from phaser.demos import hdf5_guard as guard

MAX_WORDS = 2000
_BDDL_LANGUAGE = re.compile(r"\(\s*:language\s+([^()]{1,2000})\)")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def task_of(data: Any, demo: Any, path: Path, *, instruction: str | None = None) -> Task:
    """The task of one demonstration; `instruction` overrides what the file says."""
    spoken = instruction or _spoken(data, demo, path)
    environment = _environment(data, path)
    words = spoken or " ".join(_WORDS.findall(environment or "")).lower()
    if not words:
        raise BadInput(
            f"{path} says neither its instruction (problem_info, ep_meta) nor its environment "
            "(env_args, env); give the instruction"
        )
    bddl = guard.text(data, "bddl_file_name", path)
    if bddl:
        return Task(name=PurePosixPath(bddl.replace("\\", "/")).stem, instruction=words)
    # An environment may be asked for many things, so its name is a task's only without words.
    return Task(name=spoken or environment or words, instruction=words)


def _spoken(data: Any, demo: Any, path: Path) -> str | None:
    """The instruction in words, where a recorder wrote one."""
    episode = guard.json_text(demo, "ep_meta", path)
    problem = guard.json_text(data, "problem_info", path)
    arguments = guard.json_text(data, "env_args", path)
    candidates = [
        episode.get("lang"),
        problem.get("language_instruction"),
        arguments.get("env_lang"),
        arguments.get("language_instruction"),
    ]
    for found in candidates:
        if isinstance(found, list) and all(isinstance(word, str) for word in found):
            found = " ".join(found)
        if isinstance(found, str) and found.strip():
            # LIBERO's early files carry the quotation marks of the BDDL text.
            return found.strip().strip("\"'").strip()[:MAX_WORDS]
    match = _BDDL_LANGUAGE.search(guard.text(data, "bddl_file_content", path) or "")
    return match[1].strip() if match else None


def _environment(data: Any, path: Path) -> str | None:
    named = guard.json_text(data, "env_args", path).get("env_name")
    if isinstance(named, str) and named:
        return named
    return guard.text(data, "env", path) or guard.text(data, "env_name", path)
