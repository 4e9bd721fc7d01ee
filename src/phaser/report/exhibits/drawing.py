"""Exhibits as PNG and PDF, by matplotlib."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.errors import MissingDependency
from phaser.core.files import write_atomically
from phaser.report.exhibits.exhibit import Exhibit, Heat, Panel, Series, shown
from phaser.report.palette import Look, looks
from phaser.report.svg import shorten

MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^", "wedge": "v"}
WIDTH, HEIGHT = 4.6, 3.3
"""Inches of a panel."""
MOST_NUMBERS = 400
"""Cells of a matrix up to which their numbers are written into them."""
MOST_BESIDE = 3
"""Panels in a row; further ones go below."""
MOST_ROWS = 60
"""Rows of a table that is drawn; all are in its CSV."""


def draw(exhibit: Exhibit, out: Path) -> list[Path]:
    """Write a PNG and a PDF; a table is drawn as a table."""
    figure = _figure(exhibit)
    written = []
    for suffix in ("png", "pdf"):
        path = out / f"{exhibit.name}.{suffix}"
        # No date inside, so that the same runs give the same file.
        dates = {"CreationDate": None} if suffix == "pdf" else {"Software": None}
        save = partial(figure.savefig, format=suffix, dpi=160, bbox_inches="tight", metadata=dates)
        write_atomically(path, save)
        written.append(path)
    return written


def _figure(exhibit: Exhibit) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependency(
            "matplotlib is not installed; run: pip install 'phaser-vla[figures]'"
        ) from error
    panels = exhibit.panels
    if not panels:
        return _table(exhibit, Figure)
    beside = min(len(panels), MOST_BESIDE)
    below = -(-len(panels) // beside)
    figure = Figure(figsize=(WIDTH * beside, HEIGHT * below), layout="constrained")
    axes = figure.subplots(below, beside, squeeze=False).ravel()
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    for panel, axis in zip(panels, axes, strict=False):
        if panel.heat is not None:
            _heat(axis, panel.heat)
        else:
            _panel(axis, panel)
        axis.set_title(panel.title, fontsize=9)
    return figure


def _panel(axis: Any, panel: Panel) -> None:
    drawn = looks(one.label for one in panel.series)
    for series in panel.series:
        _series(axis, series, drawn[series.label])
    axis.set_xlabel(panel.x)
    axis.set_ylabel(panel.y)
    if panel.logarithmic:
        axis.set_xscale("log")
        amounts = sorted({x for one in panel.series for x in one.xs})
        axis.set_xticks(amounts, [f"{x:g}" for x in amounts])
        axis.set_xticks([], minor=True)
    if not panel.logarithmic and _are_counts(panel):
        axis.set_xticks(sorted({int(x) for one in panel.series for x in one.xs}))
    axis.grid(alpha=0.3)
    if len(panel.series) > 1:
        axis.legend(fontsize=7, frameon=False)


def _are_counts(panel: Panel) -> bool:
    """True where x counts something, such as tasks, so that nothing lies between two ticks."""
    found = {x for one in panel.series for x in one.xs}
    return 0 < len(found) <= 20 and all(x == int(x) for x in found)


def _series(axis: Any, series: Series, look: Look) -> None:
    style = {"color": look.colour, "marker": MARKERS.get(look.shape, "h"), "label": series.label}
    if series.kind == "points":
        inside = {"facecolors": "none"} if series.hollow else {}
        if inside:
            style["edgecolors"] = style.pop("color")
        axis.scatter(series.xs, series.ys, s=16, alpha=0.75, **style, **inside)
        return
    dash: Any = "-"
    if look.dash != "none":
        dash = (0, tuple(float(one) / 1.5 for one in look.dash.split()))
    axis.plot(series.xs, series.ys, linestyle=dash, markersize=4, **style)
    if series.low is not None and series.high is not None:
        axis.vlines(series.xs, series.low, series.high, color=look.colour, alpha=0.45)


def _heat(axis: Any, heat: Heat) -> None:
    values = np.array([[np.nan if one is None else one for one in row] for row in heat.values])
    largest = float(np.nanmax(values))
    # Percentages share one scale; shares of rehearsal have their own.
    top = 100.0 if largest > 1 else largest
    axis.imshow(values, cmap="cividis", aspect="auto", vmin=0.0, vmax=top)
    if values.size <= MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(values):
            if not np.isnan(value):
                text = f"{value:.0f}" if top > 1 else f"{value:.2f}".lstrip("0")
                ink = "white" if value < 0.55 * top else "black"
                axis.text(column, row, text, ha="center", va="center", fontsize=5, color=ink)
    for place, names in ((axis.set_xticks, heat.columns), (axis.set_yticks, heat.rows)):
        turn = {"rotation": 60, "ha": "right"} if place == axis.set_xticks else {}
        if len(names) <= 40:
            place(range(len(names)), [shorten(name, 22) for name in names], fontsize=6, **turn)


def _table(exhibit: Exhibit, make: Any) -> Any:
    rows = [[shorten(shown(cell), 40) for cell in row] for row in exhibit.rows[:MOST_ROWS]]
    lengths = [max(map(len, column)) for column in zip(exhibit.headings, *rows, strict=True)]
    figure = make(figsize=(0.075 * sum(length + 2 for length in lengths), 0.2 * len(rows) + 0.3))
    axis = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axis.axis("off")
    widths = [(length + 2) / sum(one + 2 for one in lengths) for length in lengths]
    table = axis.table(
        cellText=rows, colLabels=exhibit.headings, colWidths=widths, bbox=(0.0, 0.0, 1.0, 1.0)
    )
    table.auto_set_font_size(False)
    table.set_fontsize(7)
    for (row, column), cell in table.get_celld().items():
        cell.set_linewidth(0.6)
        cell.visible_edges = "TB" if row == 0 else "B" if row == len(rows) else ""
        cell.set_text_props(ha="left" if column == 0 else "right")
    return figure
