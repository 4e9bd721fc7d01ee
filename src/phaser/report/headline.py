"""The result in words: first for a person, then with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from phaser.evaluation.comparison import PairedDifference
from phaser.memory.budget import Budget
from phaser.report.contrasts import BASELINES, BOUNDS
from phaser.report.settled import verdict
from phaser.report.wording import (
    bracket,
    counted,
    decimal,
    loss_bracket,
    percent,
    points,
    signed_loss,
)

if TYPE_CHECKING:
    from phaser.report.loss_summary import LossRow
    from phaser.report.summary import MethodRow

    Row = TypeVar("Row", MethodRow, LossRow)


def answer(
    rows: Sequence[MethodRow] | Sequence[LossRow], *, num_tasks: int, memory: Budget | None
) -> str:
    """Two or three short sentences without statistics: what is left, and what is settled."""
    if not rows or not hasattr(rows[0], "asr"):
        return _loss_answer(rows, num_tasks)  # type: ignore[arg-type]
    named: dict[str, MethodRow] = {row.method: row for row in rows}  # type: ignore[misc]
    clauses = []
    if "sequential" in named:
        left = _left(named["sequential"], num_tasks)
        clauses.append(f"without rehearsal {left} {'is' if left.startswith('1 ') else 'are'} left")
    replaying = _told(list(named.values()))
    if replaying:
        stored = f"rehearsing {memory}" if memory else "with rehearsal"
        kept = " and ".join(f"{_left(row, num_tasks)} with {row.method}" for row in replaying)
        clauses.append(f"{stored}, {kept}")
    if "joint" in named:
        clauses.append(f"{_left(named['joint'], num_tasks)} if all are learnt at once")
    begin = f"After learning {counted(num_tasks, 'task')} one after another"
    return f"{begin}: {'; '.join(clauses)}. {_settled(list(named.values()))}".strip()


def _told(rows: Sequence[MethodRow]) -> list[MethodRow]:
    """The method of interest and what it is first compared with; else whatever rehearses."""
    row = of_interest(rows)
    if row is not None:
        rival = next(iter(row.differences))
        return [*(one for one in rows if one.method == rival), row]
    return [one for one in rows if one.method not in BOUNDS][:2]


def _left(row: MethodRow, num_tasks: int) -> str:
    return f"{decimal(row.asr.mean * num_tasks)} of {num_tasks}"


def _settled(rows: Sequence[MethodRow] | Sequence[LossRow]) -> str:
    """Says whether the first comparison is decided."""
    row: Any = of_interest(list(rows))
    if row is None:
        seeds = max(_num_seeds(one) for one in rows)
        return "With one seed, what of this is luck is not known." if seeds == 1 else ""
    rival, found = next(iter(row.differences.items()))
    said = verdict(found)
    if said.startswith("not settled"):
        few = f"{counted(found.num_seeds, 'seed')} {'is' if found.num_seeds == 1 else 'are'}"
        gap = (
            f"; a gap of {decimal(100 * found.detectable)} points would have been found"
            if found.detectable and found.equivalence
            else f" ({few} too few to tell)"
            if found.detectable is None
            else ""
        )
        return f"Whether {row.method} differs from {rival} is not settled{gap}."
    if said.startswith("shown to be equal"):
        return f"{row.method} and {rival} are {said}."
    higher = (found.mean > 0) == (found.equivalence is not None)
    return f"{row.method} keeps {'more' if higher else 'less'} than {rival}: {said}."


def _num_seeds(row: MethodRow | LossRow) -> int:
    return row.loss.num_seeds if hasattr(row, "loss") else row.asr.num_seeds


def _loss_answer(rows: Sequence[LossRow], num_tasks: int) -> str:
    kept = ", ".join(f"{row.loss.mean:.3g} with {row.method}" for row in rows)
    return (
        f"After learning {counted(num_tasks, 'task')} one after another the error on held-out "
        f"demonstrations is {kept} (lower is better). {_settled(rows)}"
    ).strip()


def of_interest(rows: Sequence[Row]) -> Row | None:
    """The method that a sentence is about: phaser, else the last that has a rival."""
    candidates = [row for row in rows if row.differences and row.method not in BASELINES]
    preferred = [row for row in candidates if row.method == "phaser"] or [
        row for row in candidates if row.method not in BOUNDS
    ]
    return preferred[-1] if preferred else None


def sentence(rows: Sequence[MethodRow]) -> str:
    """Success rates of the method of interest and its rivals, with intervals."""
    named = {row.method: row for row in rows}
    row = of_interest(rows)
    if row is None:
        kept = ", ".join(f"{row.method} keeps {percent(row.asr.mean)}" for row in rows)
        return f"After the last task, {kept} average success (ASR)."
    clauses = [
        f"{baseline} keeps {percent(named[baseline].asr.mean)}, difference "
        f"{points(found.mean)} points, 95 % interval {bracket(found.interval)} "
        + _over(found, differs=_uneven(found, row, named[baseline]))
        for baseline, found in row.differences.items()
    ]
    return (
        f"After the last task, {row.method} keeps {percent(row.asr.mean)} average success (ASR); "
        + "; ".join(clauses)
        + "."
    )


def loss_sentence(rows: Sequence[LossRow]) -> str:
    """The same by held-out loss."""
    named = {row.method: row for row in rows}
    row = of_interest(rows)
    if row is None:
        kept = ", ".join(f"{row.method} {row.loss.mean:.3g}" for row in rows)
        return f"Held-out loss after the last task, lower is better: {kept}."
    clauses = []
    for baseline, found in row.differences.items():
        other = named[baseline].loss
        uneven = {row.loss.num_seeds, other.num_seeds} != {found.num_seeds}
        within = (
            f", 95 % interval {loss_bracket(found.interval)}" if found.interval is not None else ""
        )
        clauses.append(
            f"{baseline} has {other.mean:.3g}, difference {signed_loss(found.mean)}{within} "
            + _over(found, differs=uneven)
        )
    return (
        f"After the last task, {row.method} has a held-out loss of {row.loss.mean:.3g} (lower is "
        f"better); {'; '.join(clauses)}."
    )


def _uneven(found: PairedDifference, *rows: MethodRow) -> bool:
    """The pair has fewer seeds than a method, so the means need not differ by the difference."""
    return any(row.asr.num_seeds != found.num_seeds for row in rows)


def _over(found: PairedDifference, *, differs: bool) -> str:
    """Over how many seeds and tasks, and whether that shows a difference."""
    tasks = counted(found.num_tasks, "task")
    over = (
        f"over {tasks} only, 1 seed"
        if found.num_seeds == 1
        else f"over {found.num_seeds} seeds × {tasks}"
        if found.same_tasks
        else f"over {found.num_seeds} streams of {tasks}"
    )
    if differs:
        over = over.replace("seed", "common seed").replace("streams", "common streams")
    return over if found.is_clear else f"{over}, so no difference is shown"
