"""Held-out action loss on short against long phases, and the phases forgotten first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from phaser.evaluation.phase_losses import (
    PhaseGroup,
    PhaseLoss,
    ShortAgainstLong,
    forgotten_first,
    short_against_long,
)
from phaser.report.palette import looks
from phaser.report.runs import RunResult
from phaser.report.svg import drawing, element, hover, label, polyline, rect, scrolling

LEFT, BAR, GAP, SCALE_WIDTH = 118, 15, 14, 420
NUM_WORST = 8


def short_and_long_bars(groups: Mapping[str, Sequence[RunResult]]) -> str:
    """Two bars per method with the spread over phases."""
    found = {method: short_against_long(_phases(runs)) for method, runs in groups.items()}
    known = [part for pair in found.values() for part in (pair.short, pair.long) if part]
    if not known:
        return element("p", "No held-out losses were measured.")
    unit = SCALE_WIDTH / max(part.loss + part.spread for part in known)
    drawn = looks(groups)
    parts = []
    for row, (method, pair) in enumerate(found.items()):
        top = 8 + row * (2 * BAR + GAP)
        parts.append(label(LEFT - 10, top + BAR + 4, method, text_anchor="end", class_="name"))
        parts.append(_bar(top, "short", pair.short, drawn[method].colour, 1.0, unit))
        parts.append(_bar(top + BAR, "long", pair.long, drawn[method].colour, 0.45, unit))
    height = 8 + len(found) * (2 * BAR + GAP)
    title = "Held-out action loss on short and long phases after the last task"
    picture = drawing(parts, width=LEFT + SCALE_WIDTH + 190, height=height, title=title)
    return scrolling(picture, title)


def worst_phases(groups: Mapping[str, Sequence[RunResult]]) -> list[tuple[str, ...]]:
    """Rows (method, phase, share of the task, loss when learnt, loss at the end, increase)."""
    rows: list[tuple[str, ...]] = []
    for method, runs in groups.items():
        for phase in forgotten_first(_phases(runs), count=NUM_WORST):
            grew = phase.increase or 0.0
            rows.append(
                (
                    method,
                    f"{phase.task}: {phase.phase}",
                    f"{100 * phase.share:.0f} %" + (" short" if phase.is_short else ""),
                    f"{phase.final_loss - grew:.3f}",
                    f"{phase.final_loss:.3f}",
                    f"{grew:+.3f}",
                )
            )
    return rows


def reading(groups: Mapping[str, Sequence[RunResult]]) -> str:
    """One sentence per method: which kind of phase lost more since it was learnt."""
    sentences = []
    for method, runs in groups.items():
        pair: ShortAgainstLong = short_against_long(_phases(runs))
        if not (pair.short and pair.long):
            continue
        if pair.short.increase is None or pair.long.increase is None:
            continue
        sentences.append(
            f"{method}: {pair.short.increase:+.3f} on short, {pair.long.increase:+.3f} on long"
        )
    if not sentences:
        return ""
    return element("p", "Increase since learning – " + escape("; ".join(sentences)) + ".")


def _phases(runs: Sequence[RunResult]) -> list[PhaseLoss]:
    return [phase for run in runs for phase in run.phases]


def _bar(
    top: float, kind: str, group: PhaseGroup | None, shade: str, opacity: float, unit: float
) -> str:
    if group is None:
        return label(LEFT + 6, top + BAR - 4, f"no {kind} phases", class_="tick")
    end = LEFT + group.loss * unit
    middle = top + BAR / 2
    bar = rect(LEFT, top + 1, group.loss * unit, BAR - 2, rx=2, fill=shade, opacity=opacity)
    spread = polyline(
        [(max(LEFT, end - group.spread * unit), middle), (end + group.spread * unit, middle)],
        class_="spread",
    )
    reach = end + group.spread * unit + 6
    value = label(reach, middle + 4, f"{kind} {group.loss:.3f} ± {group.spread:.3f}", class_="tick")
    return hover(bar + spread + value, f"{group.num_phases} {kind} phases over all seeds")
