"""The grid that a command line describes: default < preset < file < flag."""

from __future__ import annotations

import tomllib
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from phaser.cli.arguments import budgets_in, whole_numbers
from phaser.cli.kinds import with_kinds
from phaser.cli.settings import overridden
from phaser.core.errors import BadInput
from phaser.experiments.axes import Axes, Axis
from phaser.experiments.grid_file import DEFAULT_METHODS, Grid, read_grid
from phaser.experiments.presets import preset
from phaser.experiments.run import Run

HIDDEN = ("method.keep", "method.draw", "method.rehearse", "method.penalty", "budget")
"""Rules differ from method to method; `phaser run` changes their settings, and so does --axis."""


def grid_of(name: str, chosen: Namespace, rest: Sequence[str], *, flags: Sequence[str]) -> Grid:
    """The grid that preset, file and flags describe, each stronger than the one before."""
    if chosen.from_file is None:
        grid = Grid(base=preset(name), axes=Axes(methods=DEFAULT_METHODS))
    else:
        grid = read_grid(chosen.from_file)
        if name and name != grid.base.preset:
            raise BadInput(f"grid: {chosen.from_file} starts from {grid.base.preset}, not {name}")
    base = with_kinds(grid.base, chosen)
    if chosen.cache is not None:
        base = _with_cache(base, chosen.cache)
    if chosen.phases is not None:
        # They take the place of the preset's, which may know other tasks than flags choose.
        base = replace(base, phases=())
    base = overridden(base, rest, verb="grid", flags=flags, hidden=HIDDEN)
    if chosen.phases is not None:
        base = base.with_phases(chosen.phases)
    return Grid(base=base, axes=_axes(grid.axes, chosen))


def _with_cache(base: Run, cache: Path) -> Run:
    """The run with its recordings and features in another folder, as several machines need it."""
    if not any(field.name == "cache" for field in fields(base.suite)):  # type: ignore[arg-type]
        raise BadInput(f"{base.suite_kind} has no cache of its own; set PHASER_CACHE instead")
    suite = replace(base.suite, cache=cache.absolute())  # type: ignore[type-var]
    return replace(base, suite=suite)


def _axes(axes: Axes, chosen: Namespace) -> Axes:
    """The axes with those that flags name in the place of the others."""
    given: dict[str, Any] = {}
    if chosen.methods is not None:
        given["methods"] = tuple(dict.fromkeys(chosen.methods))
    for name in ("seeds", "streams"):
        if (words := getattr(chosen, name)) is not None:
            given[name] = whole_numbers(words, flag=f"--{name}")
    if budgets := budgets_in(chosen):
        given["budgets"] = tuple(budgets)
    if chosen.orders is not None:
        given["orders"] = tuple(dict.fromkeys(chosen.orders))
    if chosen.alternate_order:
        given["alternate_order"] = True
    if chosen.axis:
        named = [
            Axis(setting=words[0], values=tuple(map(value_in, words[1:]))) for words in chosen.axis
        ]
        kept = {axis.setting: axis for axis in axes.settings} | {one.setting: one for one in named}
        if len({one.setting for one in named}) < len(named):
            raise BadInput("grid: two --axis for one setting; give one with all values")
        given["settings"] = tuple(kept.values())
    return replace(axes, **given)


def value_in(word: str) -> Any:
    """A value of an axis: a number, true, false or a list as TOML spells them; else the text."""
    try:
        return tomllib.loads(f"value = {word}")["value"]
    except tomllib.TOMLDecodeError:
        return word
