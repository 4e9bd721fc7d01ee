"""The summary as plain text for the terminal and as markdown for the documentation."""

from __future__ import annotations

from collections.abc import Sequence

from phaser.evaluation.comparison import PairedDifference
from phaser.report import loss_tables, overhead, phase_table, settled
from phaser.report.contrasts import Pair, baselines, once
from phaser.report.summary import MethodRow, Summary
from phaser.report.wording import bracket, counted, loss_bracket, p_text, points, signed_loss

HEADINGS = (
    "method",
    "ASR %",
    "95 % interval",
    "NBT",
    "BWT",
    "forgetting",
    "plasticity",
    "FWT",
    "LIBERO NBT",
    "LIBERO AUC",
    "seeds",
    "episodes",
    "frames/task",
    "CPU s/run",
)
FIRST_HEADINGS = (
    *("method", "ASR %", "95 % interval", "NBT", "plasticity"),
    *("seeds", "episodes", "frames/task", "CPU s/run"),
)
MORE_HEADINGS = ("method", "BWT", "forgetting", "FWT", "LIBERO NBT", "LIBERO AUC")
SHORT_HEADINGS = ("method", "ASR %", "95 % interval", "NBT", "plasticity", "seeds", "episodes")
"""The columns that fit 80 characters; all are in the page, in markdown and in JSON."""
NARROW_HEADINGS = ("difference", "95 % interval", "p", "Holm", "smallest gap")
COMPARED_HEADINGS = ("method", "minus", *NARROW_HEADINGS)


def main_headings(summary: Summary) -> tuple[str, ...]:
    """The headings of the main table: success rates, or held-out losses where there are none."""
    return loss_tables.HEADINGS if summary.losses else HEADINGS


def main_rows(summary: Summary) -> list[tuple[str, ...]]:
    """The cells of the main table, as text, in the order of `main_headings`."""
    if summary.losses:
        return [loss_tables.cells(row) for row in summary.losses]
    return [_cells(row) for row in summary.table]


def difference_headings(summary: Summary) -> tuple[str, ...]:
    unit = "" if summary.losses else ", points"
    present = _baselines(summary)
    return ("method", *(f"minus {name}{unit}" for name in present)) if present else ()


def difference_rows(summary: Summary) -> list[tuple[str, ...]]:
    """The cells of the table of paired differences."""
    cell = loss_difference_cell if summary.losses else difference_cell
    return [
        (row.method, *(cell(row.differences.get(name)) for name in _baselines(summary)))
        for row in summary.rows
        if row.differences
    ]


def phase_headings(summary: Summary) -> tuple[str, ...]:
    return phase_table.headings(_compared(summary)) if summary.phases else ()


def phase_loss_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Held-out loss of short and long phases, and how it differs from the baselines."""
    return [phase_table.cells(row, _compared(summary)) for row in summary.phases]


def overhead_table_rows(summary: Summary) -> list[tuple[str, ...]]:
    """What each method costs, in the order of `overhead.HEADINGS`."""
    return [overhead.cells(row) for row in summary.overhead]


def difference_cell(found: PairedDifference | None) -> str:
    if found is None:
        return "–"
    return f"{points(found.mean)} {bracket(found.interval)}{_certainty(found)}"


def loss_difference_cell(found: PairedDifference | None) -> str:
    if found is None:
        return "–"
    return f"{signed_loss(found.mean)} {loss_bracket(found.interval)}".rstrip() + _certainty(found)


def as_text(summary: Summary) -> str:
    """Results, differences and what they settle, aligned for a terminal of 80 columns."""
    parts = [aligned(_short(summary))]
    if pairs := _pairs(summary):
        losses = bool(summary.losses)
        rows = [(*names, *narrow_cells(found, losses=losses)) for names, found in pairs.items()]
        parts.append(aligned([COMPARED_HEADINGS, *rows]))
        verdicts = {" minus ".join(names): settled.verdict(found) for names, found in pairs.items()}
        parts.append(settled.by_verdict(verdicts))
    if remark := loss_tables.remark(summary.unmeasured):
        parts.append(remark)
    return "\n\n".join(parts)


def _pairs(summary: Summary) -> dict[Pair, PairedDifference]:
    found = {
        (row.method, name): one for row in summary.rows for name, one in row.differences.items()
    }
    return once(found)


def _short(summary: Summary) -> list[tuple[str, ...]]:
    shown = SHORT_HEADINGS if not summary.losses else loss_tables.SHORT_HEADINGS
    return [shown, *chosen(summary, shown)]


def chosen(summary: Summary, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Some columns of the main table."""
    places = [main_headings(summary).index(name) for name in columns]
    return [tuple(row[place] for place in places) for row in main_rows(summary)]


def compared_rows(summary: Summary) -> list[tuple[str, ...]]:
    """One row per method and baseline, in narrow columns."""
    return [
        (row.method, name, *narrow_cells(found, losses=bool(summary.losses)))
        for row in summary.rows
        for name, found in row.differences.items()
    ]


def narrow_cells(found: PairedDifference, *, losses: bool = False) -> tuple[str, ...]:
    """A difference in narrow columns: itself, its interval, two p values, the smallest gap."""
    signed, within = (signed_loss, loss_bracket) if losses else (points, bracket)
    return (
        signed(found.mean),
        within(found.interval) or "–",
        *("–" if p is None else f"{p:.3g}" for p in (found.p_value, found.p_corrected)),
        settled.smallest_gap(found),
    )


def as_markdown(summary: Summary) -> str:
    """The same two tables in markdown, the losses of short and long phases, and what it cost."""
    parts = [markdown([main_headings(summary), *main_rows(summary)])]
    if difference_headings(summary):
        parts.append(markdown([difference_headings(summary), *difference_rows(summary)]))
        parts.append(markdown([settled.headings(summary), *settled.rows(summary)]))
    if summary.phases:
        parts.append(markdown([phase_headings(summary), *phase_loss_rows(summary)]))
    if remark := loss_tables.remark(summary.unmeasured):
        parts.append(remark)
    parts.append(markdown([overhead.HEADINGS, *overhead_table_rows(summary)]))
    return "\n\n".join(parts) + "\n"


def _baselines(summary: Summary) -> list[str]:
    return baselines([row.differences for row in summary.rows])


def _certainty(found: PairedDifference) -> str:
    return f"{p_text(found)}, {counted(found.num_seeds, 'seed')}"


def _compared(summary: Summary) -> list[str]:
    """The baselines that any method is compared with."""
    found = {baseline for row in summary.phases for _, baseline in row.differences}
    return [baseline for baseline in _baselines(summary) if baseline in found]


def _cells(row: MethodRow) -> tuple[str, ...]:
    interval = row.asr.interval
    return (
        row.method,
        f"{100 * row.asr.mean:.1f}",
        f"{100 * interval.lower:.1f} – {100 * interval.upper:.1f}",
        _signed(row.nbt),
        _signed(row.bwt),
        _signed(row.forgetting),
        _rate(row.plasticity),
        _rate(row.fwt),
        _signed(row.libero_nbt),
        _rate(row.libero_auc),
        str(row.asr.num_seeds),
        f"{row.asr.successes}/{row.asr.trials}",
        str(row.frames_per_task),
        "–" if row.cpu_s is None else f"{row.cpu_s:.0f}",
    )


def _rate(rate: float | None) -> str:
    return "–" if rate is None else f"{100 * rate:.1f}"


def _signed(rate: float | None) -> str:
    return "–" if rate is None else points(rate)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows for a terminal, the first one a heading over a line."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "─" * max(map(len, lines)), *lines[1:]])


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a markdown table, the first one its heading."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    rule = "|---" + "|---:" * (len(rows[0]) - 1) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
