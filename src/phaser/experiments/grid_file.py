"""A grid as a value, and as a TOML file that can be committed and run again."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_bytes, write_text
from phaser.experiments.axes import Axes, Axis
from phaser.experiments.changed import NOTHING
from phaser.experiments.presets import preset
from phaser.experiments.run import Run, run_from, settings_of
from phaser.experiments.settings_files import layered
from phaser.experiments.toml_writer import toml_lines
from phaser.memory.budget import Budget

GRID = "grid.toml"
"""Every grid writes this file into its folder; `phaser grid --from grid.toml` runs it again."""
DEFAULT_METHODS = ("sequential", "er", "phaser")
"""The methods of a grid that names none."""
AXES = tuple(field.name for field in fields(Axes))
KEYS = ("preset", *(name for name in AXES if name != "settings"), "axes", "settings")


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """Many cells: where they all start from, and what differs among them."""

    base: Run
    axes: Axes

    def cells(self) -> list[Run]:
        """All cells, each with a name of its own."""
        return self.axes.cells(self.base)


def write_grid(grid: Grid, path: Path) -> None:
    """Write a grid with all its settings resolved."""
    write_text(path, grid_text(grid))


def grid_text(grid: Grid) -> str:
    """The grid as TOML."""
    axes = grid.axes
    varied: dict[str, Any] = {
        "preset": grid.base.preset,
        "methods": axes.methods,
        "seeds": axes.seeds,
        "budgets": [asdict(budget) for budget in axes.budgets],
        "orders": axes.orders,
        "streams": axes.streams,
        "alternate_order": axes.alternate_order,
    }
    if not axes.alternate_order:
        del varied["alternate_order"]
    return "\n".join(
        [
            "# A grid of phaser: methods x seeds x budgets x orders x streams x axes.",
            f"# Run it, or go on with it: phaser grid --from {GRID}",
            *toml_lines({name: value for name, value in varied.items() if value != ()}),
            "",
            "[axes]",
            *toml_lines({axis.setting: axis.values for axis in axes.settings}),
            "",
            "[settings]",
            *toml_lines(_shared(grid.base)),
            "",
        ]
    )


def read_grid(path: Path) -> Grid:
    """The grid in a file; whatever it leaves out is the preset's, or the default."""
    try:
        found = tomllib.loads(read_bytes(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenFile(f"{path} is not valid TOML ({error}); mend it") from error
    if unknown := sorted(set(found) - set(KEYS)):
        raise BadInput(f"{path} has {unknown[0]!r}; expected only {', '.join(KEYS)}")
    if not isinstance(found.get("preset"), str):
        raise BadInput(f"{path} names no preset; expected a line such as preset = 'metaworld-10'")
    start = preset(found["preset"])
    below = settings_of(start)
    base = run_from(layered(below, _with_nothing(found.get("settings", {}))), source=str(path))
    return Grid(base=base, axes=_axes(found, path))


def _shared(base: Run) -> dict[str, Any]:
    """The settings that all cells have; the others are axes."""
    settings = settings_of(replace(base, label=""))
    for name in ("preset", "seed", "budget"):
        settings.pop(name)
    # Rules are the methods' own; how demonstrations are cut is shared.
    settings["method"] = {"segmenter": settings["method"]["segmenter"]}
    return settings


def _axes(found: Mapping[str, Any], path: Path) -> Axes:
    given: dict[str, Any] = {}
    for name, kind in (("methods", str), ("seeds", int), ("orders", str), ("streams", int)):
        if name in found:
            given[name] = _listed(found[name], kind, f"{path}: {name}")
    if "budgets" in found:
        given["budgets"] = tuple(_budget(one, path) for one in found["budgets"])
    if "alternate_order" in found:
        given["alternate_order"] = bool(found["alternate_order"])
    settings = tuple(_setting_axes(found.get("axes", {}), path))
    return Axes(**{"methods": DEFAULT_METHODS, **given}, settings=settings)


def _listed(value: Any, kind: type[Any], where: str) -> tuple[Any, ...]:
    if not isinstance(value, list) or not value or not all(type(one) is kind for one in value):
        words = {int: "whole numbers", str: "texts"}[kind]
        raise BadInput(f"{where} is {value!r}; expected a list of {words}")
    return tuple(dict.fromkeys(value))


def _budget(value: Any, path: Path) -> Budget:
    if isinstance(value, int) and not isinstance(value, bool):
        return Budget.per_task(value)
    try:
        return Budget(**value)
    except TypeError as error:
        raise BadInput(
            f"{path}: a budget is {value!r}; expected frames per task, or "
            "{ amount = 20, unit = 'frames', per = 'task' }"
        ) from error


def _setting_axes(found: Any, path: Path, prefix: str = "") -> Iterator[Axis]:
    if not isinstance(found, Mapping):
        raise BadInput(f"{path}: axes are {found!r}; expected lines: fit.learning_rate = [1e-3]")
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _setting_axes(value, path, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield Axis(setting=f"{prefix}{name}", values=tuple(value))
        else:
            raise BadInput(f"{path}: the axis {prefix}{name} is {value!r}; expected a list")


def _with_nothing(value: Any) -> Any:
    """The same values, where the word for nothing is nothing."""
    if isinstance(value, Mapping):
        return {name: _with_nothing(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_nothing(one) for one in value]
    return None if value == NOTHING else value
