"""Retention against memory: methods at several budgets, and their mean difference over budgets.

The contrast of two methods is the mean over budgets of their paired difference, stream by stream:
it varies less than the difference at any one budget. The differences at single budgets follow,
corrected for their number (Holm). A budget counts in the mean if all common streams have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from phaser.evaluation.comparison import (
    Estimate,
    Matrices,
    PairedDifference,
    estimate_asr,
    mean_paired_difference,
    paired_difference,
)
from phaser.evaluation.equivalence import MARGIN
from phaser.evaluation.intervals import holm
from phaser.evaluation.metrics import mean
from phaser.memory.budget import Budget
from phaser.report.by_budget import Runs, kind
from phaser.report.contrasts import BASELINES, EVERY, Contrasts, corrected
from phaser.report.runs import RunResult, rank
from phaser.report.settled import verdict
from phaser.report.summary import STREAMS, by_method
from phaser.report.wording import bracket, counted, p_text, percent, points

ByBudget = Mapping[Budget, Matrices]


@dataclass(frozen=True, kw_only=True, slots=True)
class CurvePoint:
    """One method at one budget."""

    budget: Budget
    asr: Estimate
    bytes_per_task: float | None
    """Encoded bytes that its memories hold of a task, mean; none where a run did not count them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrast:
    """One method minus a baseline, over budgets."""

    method: str
    baseline: str
    budgets: tuple[Budget, ...]
    """Those of the mean: all that every common stream has."""
    left_out: tuple[Budget, ...]
    """Those that only some of the common streams have."""
    over_budgets: PairedDifference
    """Corrected among the methods that are compared with the same baseline."""
    at_budget: Mapping[Budget, PairedDifference]
    """Corrected among the budgets of this contrast."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """All methods at budgets of one kind."""

    budgets: tuple[Budget, ...]
    methods: Mapping[str, tuple[CurvePoint, ...]]
    bounds: Mapping[str, Estimate]
    """Methods without a memory: the same at every budget."""
    contrasts: tuple[Contrast, ...]
    sentence: str
    """The contrasts with their uncertainty."""

    @property
    def answer(self) -> str:
        """The result for a person: what little and much memory keep, and what is settled."""
        found = [one for one in self.contrasts if one.method == _told(self.contrasts)]
        names = [found[0].baseline, found[0].method] if found else list(self.methods)[-2:]
        ends = [
            f"with {budget} {' and '.join(kept)}"
            for budget in dict.fromkeys((self.budgets[0], self.budgets[-1]))
            if (kept := self._kept(names, budget))
        ]
        ends += [f"without rehearsal {percent(one.mean)}" for name, one in self.bounds.items()
                 if name == "sequential"]  # fmt: skip
        over = "".join(
            f" Over all budgets, {one.method} against {one.baseline}: {verdict(one.over_budgets)}."
            for one in found[:1]
        )
        return f"Average success after the last task: {'; '.join(ends)}.{over}"

    def _kept(self, names: Sequence[str], budget: Budget) -> list[str]:
        return [
            f"{percent(point.asr.mean)} ({name})"
            for name in names
            for point in self.methods[name]
            if point.budget == budget
        ]

    @property
    def unit(self) -> str:
        """What the budgets count: "frames per task"."""
        return str(self.budgets[0]).split(" ", 1)[1]


def curves(
    runs: Mapping[Budget, Runs], *, margin: float = MARGIN, contrasts: Contrasts = EVERY
) -> tuple[Curve, ...]:
    """One curve per kind of budget that has several sizes; none where nothing was rolled out."""
    kinds: dict[tuple[str, str], dict[Budget, Runs]] = {}
    for budget, group in runs.items():
        if all(run.metrics is not None for run in group):
            kinds.setdefault(kind(budget), {})[budget] = group
    return tuple(_curve(group, margin, contrasts) for group in kinds.values() if len(group) > 1)


def _curve(runs: Mapping[Budget, Runs], margin: float, asked: Contrasts) -> Curve:
    groups = {budget: by_method(group) for budget, group in runs.items()}
    everyone = sorted((run for group in runs.values() for run in group), key=rank)
    kept = dict.fromkeys(run.method for run in everyone if run.budget is not None)
    without = by_method([run for run in next(iter(runs.values())) if run.budget is None])
    matrices = {
        name: {budget: _matrices(group[name]) for budget, group in groups.items() if name in group}
        for name in kept
    }
    contrasts = _corrected(
        [
            found
            for name in kept
            for baseline in _rivals(name, kept, asked)
            for found in _contrast(name, baseline, matrices, margin)
        ],
        asked,
    )
    return Curve(
        budgets=tuple(runs),
        methods={
            name: tuple(
                _point(budget, group[name]) for budget, group in groups.items() if name in group
            )
            for name in kept
        },
        bounds={name: estimate_asr(_matrices(group)) for name, group in without.items()},
        contrasts=contrasts,
        sentence=_sentence(contrasts),
    )


def _rivals(method: str, methods: Iterable[str], asked: Contrasts) -> list[str]:
    """Methods that this one is compared with; of two baselines only the later with the earlier."""
    rivals = asked.of(method, methods)
    if asked.asked:
        return rivals
    return [one for one in takewhile(method.__ne__, BASELINES) if one in rivals]


def _matrices(runs: Iterable[RunResult]) -> Matrices:
    return {run.seed: run.matrix for run in runs}


def _point(budget: Budget, runs: Sequence[RunResult]) -> CurvePoint:
    sizes = [list(map(float, run.certificate.bytes_per_task.values())) for run in runs]
    return CurvePoint(
        budget=budget,
        asr=estimate_asr(_matrices(runs)),
        bytes_per_task=mean([mean(one) for one in sizes]) if all(sizes) else None,
    )


def _contrast(
    method: str, baseline: str, matrices: Mapping[str, ByBudget], margin: float
) -> list[Contrast]:
    """The contrast of two methods; none where they share no stream at several budgets."""
    first, second = matrices[method], matrices[baseline]
    shared = {
        budget: seeds
        for budget, found in first.items()
        if (seeds := set(found) & set(second.get(budget, ())))
    }
    streams = set().union(*shared.values())
    budgets = tuple(budget for budget, seeds in shared.items() if seeds == streams)
    if len(budgets) < 2:
        return []
    pairs = [
        (
            {seed: first[one][seed] for seed in streams},
            {seed: second[one][seed] for seed in streams},
        )
        for one in budgets
    ]
    at_budget = {
        one: paired_difference(
            first[one],
            second[one],
            STREAMS.named("difference", method, baseline),
            margin=margin,
        )
        for one in shared
    }
    corrected = holm([found.p_value for found in at_budget.values()])
    return [
        Contrast(
            method=method,
            baseline=baseline,
            budgets=budgets,
            left_out=tuple(one for one in shared if one not in budgets),
            over_budgets=mean_paired_difference(
                pairs, STREAMS.named("difference over budgets", method, baseline), margin=margin
            ),
            at_budget={
                one: replace(found, p_corrected=p_value)
                for (one, found), p_value in zip(at_budget.items(), corrected, strict=True)
            },
        )
    ]


def _corrected(contrasts: Sequence[Contrast], asked: Contrasts) -> tuple[Contrast, ...]:
    """With p values of the means that allow for the other tests of their family."""
    found = {(one.method, one.baseline): one for one in contrasts}
    differences = corrected(found, asked, lambda one: one.over_budgets)
    return tuple(replace(one, over_budgets=differences[pair]) for pair, one in found.items())


def _told(contrasts: Sequence[Contrast]) -> str:
    """The method that sentences are about: phaser, else the last one."""
    names = [one.method for one in contrasts]
    return "phaser" if "phaser" in names or not names else names[-1]


def _sentence(contrasts: Sequence[Contrast]) -> str:
    """The contrasts of phaser, else of the last method."""
    if not contrasts:
        return "No two methods were run at several budgets in the same streams."
    name = _told(contrasts)
    clauses = []
    for one in contrasts:
        if one.method == name:
            found = one.over_budgets
            clauses.append(
                f"{name} minus {one.baseline} is {points(found.mean)} points over "
                f"{len(one.budgets)} budgets and {counted(found.num_seeds, 'stream')}, "
                f"95 % interval {bracket(found.interval)}{p_text(found)} ({verdict(found)})"
            )
    return f"Averaged over budgets, {'; '.join(clauses)}."
