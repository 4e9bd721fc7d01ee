"""The cells of a grid: methods × seeds × budgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from phaser.experiments.run import Run
from phaser.memory.budget import Budget
from phaser.methods.method import DEFAULT_SEGMENTER, Method
from phaser.methods.table import method as method_named


@dataclass(frozen=True, kw_only=True, slots=True)
class Axes:
    """What a grid varies. With `alternate_order`, odd seeds learn the tasks in reverse."""

    methods: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    budgets: tuple[Budget, ...] = (Budget(),)
    alternate_order: bool = False

    def cells(self, base: Run) -> list[Run]:
        """Seeds outermost, so that every method has its first seeds early."""
        return list(dict.fromkeys(self._cells(base)))

    def _cells(self, base: Run) -> Iterator[Run]:
        for seed in self.seeds:
            order = "reverse" if self.alternate_order and seed % 2 else base.suite.order
            start = base.with_seed(seed)
            start = replace(start, suite=start.suite.in_order(order))
            for budget in self.budgets:
                for name in self.methods:
                    chosen = with_segmenter(method_named(name), base.method)
                    yield start.with_method(chosen).with_budget(budget)


def with_segmenter(method: Method, base: Method) -> Method:
    """The method with the segmenter that the grid was given, unless it brings its own."""
    if method.segmenter != DEFAULT_SEGMENTER:
        return method
    return replace(method, segmenter=base.segmenter)
