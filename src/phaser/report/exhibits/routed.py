"""What routing does: its matrix, its entropy, what it amplifies, and how that meets the loss."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2

import numpy as np

from phaser.evaluation.metrics import mean
from phaser.report.exhibits.correlations import partial, pearson, spearman
from phaser.report.exhibits.exhibit import Exhibit, Heat, Panel, Row, Series
from phaser.report.exhibits.variants import Runs, usual
from phaser.report.routing import Transition
from phaser.report.runs import RunResult


def routing_matrix(runs: Runs) -> Exhibit | None:
    """Probability of every old phase while each new task is learnt, of the first routed run."""
    run = _routed(runs)
    if run is None:
        return None
    steps = _steps(run)
    names = list(dict.fromkeys(f"{one.task}: {one.label}" for step in steps for one in step.phases))
    values = []
    for step in steps:
        weights = {f"{one.task}: {one.label}": one.weight for one in step.phases}
        values.append([weights.get(name) for name in names])
    tasks = [step.task for step in steps]
    return Exhibit(
        name="routing-matrix",
        caption="Share of rehearsal of every old phase (columns) while each task (rows) is learnt: "
        f"{run.method}, seed {run.seed}.",
        headings=("new task", *names),
        rows=tuple((task, *line) for task, line in zip(tasks, values, strict=True)),
        panels=(Panel(heat=Heat(rows=tasks, columns=names, values=values)),),
    )


def routing_entropy(runs: Runs) -> Exhibit | None:
    """Entropy of rehearsal by transition, beside equal shares of all active phases."""
    run = _routed(runs)
    if run is None:
        return None
    steps = _steps(run)
    places = [float(run.tasks.index(step.task) + 1) for step in steps]
    equal = [log2(len(step.phases)) for step in steps]
    found = [step.entropy_bits for step in steps]
    return Exhibit(
        name="routing-entropy",
        caption="Entropy of rehearsal in bits; equal shares of the active phases would have the "
        "upper one.",
        headings=("new task", "number", "entropy", "equal shares"),
        rows=tuple(
            (step.task, int(place), one, other)
            for step, place, one, other in zip(steps, places, found, equal, strict=True)
        ),
        panels=(
            Panel(
                x="task",
                y="bits",
                series=(
                    Series(label="equal shares", xs=places, ys=equal),
                    Series(label=run.method, xs=places, ys=found),
                ),
            ),
        ),
    )


def amplification(runs: Runs) -> Exhibit | None:
    """How many times an equal share a phase gets, by quintiles of its priority U."""
    pairs = [
        (one.priority, one.weight * len(step.phases))
        for run in [_routed(runs)]
        if run is not None
        for step in _steps(run)
        for one in step.phases
        if one.priority is not None
    ]
    if len(pairs) < 5:
        return None
    pairs.sort()
    rows: list[Row] = []
    for number, part in enumerate(np.array_split(np.array(pairs), 5), start=1):
        rows.append((number, len(part), float(part[:, 0].mean()), float(part[:, 1].mean())))
    ratios = [ratio for _, ratio in pairs]
    shares = [100 * mean([float(test) for test in tests]) for tests in (
        [one >= 2 for one in ratios], [one < 0.7 for one in ratios],
        [0.7 <= one <= 1.3 for one in ratios])]  # fmt: skip
    return Exhibit(
        name="amplification",
        caption=f"Rehearsal over an equal share, by quintiles of priority U. Of {len(pairs)} pairs "
        f"{shares[0]:.1f} % get twice an equal share or more, {shares[1]:.1f} % less than 0.7, "
        f"{shares[2]:.1f} % between 0.7 and 1.3.",
        headings=("quintile of U", "pairs", "mean U", "mean amplification"),
        rows=tuple(rows),
        panels=(
            Panel(
                x="priority U",
                y="times an equal share",
                series=(
                    Series(
                        label="a phase while a task is learnt",
                        xs=[one for one, _ in pairs],
                        ys=ratios,
                        kind="points",
                    ),
                    Series(
                        label="mean of a quintile",
                        xs=[float(row[2] or 0) for row in rows],
                        ys=[float(row[3] or 0) for row in rows],
                    ),
                ),
            ),
        ),
    )


def routed_loss(runs: Runs) -> Exhibit | None:
    """Rehearsal that a phase got in all against its final loss; correlations, and given its age."""
    run = _routed(runs)
    if run is None:
        return None
    found = list(_by_phase(run))
    if len(found) < 4:
        return None
    total, density, age, loss = ([float(row[place]) for row in found] for place in (2, 3, 4, 5))
    told = []
    for name, one in (
        ("Pearson", pearson(total, loss)),
        ("Spearman", spearman(total, loss)),
        ("partial given age", partial(total, loss, age)),
    ):
        told.append(f"{name} –" if one.value is None else
                    f"{name} {one.value:+.2f} (p = {one.p_value:.2g})")  # fmt: skip
    panels = tuple(
        Panel(
            title=title,
            x="weight",
            y="loss",
            series=(Series(label=run.method, xs=xs, ys=loss, kind="points"),),
        )
        for title, xs in (("cumulative weight", total), ("mean weight", density))
    )
    return Exhibit(
        name="routed-loss",
        caption=f"Rehearsal of {len(found)} phases over all later tasks against their held-out "
        f"loss at the end: {', '.join(told)}.",
        headings=("task", "phase", "cumulative weight", "mean weight", "age", "loss"),
        rows=tuple(found),
        panels=panels,
    )


def _by_phase(run: RunResult) -> Iterator[tuple[str, str, float, float, int, float]]:
    weights: dict[tuple[str, int], list[float]] = {}
    for step in _steps(run):
        for one in step.phases:
            weights.setdefault((one.task, one.index), []).append(one.weight)
    for phase in run.phases:
        found = weights.get((phase.task, phase.phase_index))
        if found:
            age = len(run.tasks) - 1 - run.tasks.index(phase.task)
            density = sum(found) / max(age, 1)
            yield phase.task, phase.phase, sum(found), density, age, phase.final_loss


def _routed(runs: Runs) -> RunResult | None:
    """phaser's first run that weighs phases unequally, else any method's."""
    found = [run for run in usual(runs) if any(not step.is_uniform for step in run.routing)]
    found.sort(key=lambda run: (run.method != "phaser", run.seed))
    return found[0] if found else None


def _steps(run: RunResult) -> list[Transition]:
    return [step for step in run.routing if step.phases]
