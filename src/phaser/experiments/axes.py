"""The cells of a grid: methods × seeds × budgets × orders × streams × any other setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from phaser.core.errors import BadInput
from phaser.experiments.changed import MissingSetting, changed_setting, setting_names
from phaser.experiments.run import Run
from phaser.memory.budget import Budget
from phaser.methods.method import DEFAULT_SEGMENTER, Method
from phaser.methods.table import method as method_named

STREAM = "suite.stream"
MAX_CELLS = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """One setting, by its path such as `fit.learning_rate`, and the values that it takes."""

    setting: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "setting", self.setting.replace("-", "_"))
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise BadInput(f"the axis {self.setting} has no values; give at least one")


@dataclass(frozen=True, kw_only=True, slots=True)
class Axes:
    """What a grid varies. With `alternate_order`, odd seeds learn the tasks in reverse."""

    methods: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    budgets: tuple[Budget, ...] = (Budget(),)
    alternate_order: bool = False
    orders: tuple[str, ...] = ()
    """Orders of the tasks; none: the order that the grid starts from."""
    streams: tuple[int, ...] = ()
    """Streams of random tasks apart from seeds; none: each seed has its own."""
    settings: tuple[Axis, ...] = ()
    """Other settings. A method that lacks one of them runs once without it."""

    def __post_init__(self) -> None:
        if self.alternate_order and self.orders:
            raise BadInput("a grid with orders and with alternate_order; give one of the two")
        names = [axis.setting for axis in self._axes]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise BadInput(f"two axes for {twice[0]}; give one with all values")

    def cells(self, base: Run) -> list[Run]:
        """Seeds outermost, so that every method has its first seeds early."""
        found = list(dict.fromkeys(self._cells(base)))
        for axis in self._axes:
            self._require_known(axis, found)
        counts = Counter(cell.name for cell in found)
        if twice := next((name for name, count in counts.items() if count > 1), None):
            raise BadInput(f"two different cells are called {twice}; leave out one of their values")
        return found

    @property
    def _axes(self) -> tuple[Axis, ...]:
        stream = (Axis(setting=STREAM, values=self.streams),) if self.streams else ()
        return (*stream, *self.settings)

    def _cells(self, base: Run) -> Iterator[Run]:
        values = list(product(*(axis.values for axis in self._axes)))
        size = len(self.seeds) * len(self.budgets) * len(self.methods) * len(values)
        if size * max(1, len(self.orders)) > MAX_CELLS:
            raise BadInput(f"a grid of {size} cells; expected at most {MAX_CELLS}")
        for seed in self.seeds:
            for order in self._orders(base, seed):
                start = base.with_seed(seed)
                start = replace(start, suite=start.suite.in_order(order))
                for budget in self.budgets:
                    for chosen in values:
                        for name in self.methods:
                            method = with_segmenter(method_named(name), base.method)
                            cell = start.with_method(method).with_budget(budget)
                            yield self._with_values(cell, chosen)

    def _orders(self, base: Run, seed: int) -> tuple[str, ...]:
        if self.orders:
            return self.orders
        return ("reverse" if self.alternate_order and seed % 2 else base.suite.order,)

    def _with_values(self, cell: Run, values: tuple[Any, ...]) -> Run:
        names = [axis.setting.rpartition(".")[2] for axis in self._axes]
        label = []
        for axis, name, value in zip(self._axes, names, values, strict=True):
            try:
                cell = changed_setting(cell, axis.setting, value)
            except MissingSetting:
                continue
            # Two settings of the same last name are told apart by their whole paths.
            short = name if names.count(name) == 1 else axis.setting
            label.append(f"{short}={in_a_name(value)}")
        return replace(cell, label=",".join(label))

    def _require_known(self, axis: Axis, cells: list[Run]) -> None:
        """Refuse a setting that no cell has, which is a slip of the pen."""
        one_each = {cell.method.name: cell for cell in cells}
        known = {name for cell in one_each.values() for name in setting_names(cell)}
        if axis.setting not in known:
            raise MissingSetting(axis.setting, known)


def in_a_name(value: Any) -> str:
    """A value as part of a folder's name."""
    if isinstance(value, list | tuple):
        return "+".join(in_a_name(one) for one in value)
    return "".join(one if one.isalnum() or one in "._+-" else "-" for one in str(value))


def with_segmenter(method: Method, base: Method) -> Method:
    """The method with the segmenter that the grid was given, unless it brings its own."""
    if method.segmenter != DEFAULT_SEGMENTER:
        return method
    return replace(method, segmenter=base.segmenter)
