"""Adapters and rules chosen by name on the command line (`--policy tiny`, `--keep LastFrames`)."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Any

from phaser.cli.arguments import KINDS, RULES
from phaser.core.errors import BadInput
from phaser.core.tables import Table
from phaser.experiments.run import Run
from phaser.experiments.tables import (
    DRAWS,
    KEEPS,
    PENALTIES,
    POLICIES,
    REHEARSALS,
    SEGMENTERS,
    SUITES,
)

_TABLES: dict[str, Table[Any]] = {
    "suite": SUITES,
    "policy": POLICIES,
    "keep": KEEPS,
    "draw": DRAWS,
    "rehearse": REHEARSALS,
    "penalty": PENALTIES,
    "segmenter": SEGMENTERS,
}


def with_kinds(run: Run, chosen: Namespace) -> Run:
    """The run with the named adapters and rules, each with its default settings."""
    for name in KINDS:
        if (given := getattr(chosen, name, None)) is not None:
            changed: dict[str, Any] = {name: _made(_TABLES[name], given, flag=f"--{name}")}
            run = replace(run, **changed)
    rules: dict[str, Any] = {
        name: _made(_TABLES[name], given, flag=f"--{name}")
        for name in RULES
        if (given := getattr(chosen, name, None)) is not None
    }
    return run.with_method(replace(run.method, **rules)) if rules else run


def _made(table: Table[Any], name: str, *, flag: str) -> Any:
    kind = table.require(name)
    try:
        return kind()
    except TypeError as error:
        raise BadInput(
            f"{flag} {name}: its settings need values from the start ({error}); give it defaults, "
            "or name it in a file with --from"
        ) from error
