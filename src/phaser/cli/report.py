"""`phaser report`: compare finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from phaser.cli.arguments import Parser, add_budget_tolerance, points_given
from phaser.cli.output import finished_folders, require_writable, show, write_pages
from phaser.report import curve_tables
from phaser.report.tables import as_markdown


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("report", "Compare finished runs: a table with intervals and one HTML page.")
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="DIR", help="folders of runs, or of grids"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("report.html"), help="the page (default: report.html)"
    )
    add_budget_tolerance(parser)
    parser.add_argument(
        "--margin",
        type=points_given,
        default=3.0,
        metavar="POINTS",
        help="methods within ±POINTS are called equal, where that is shown (default: 3)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--markdown", action="store_true", help="print the table as markdown")
    chosen = parser.parse(arguments)
    folders = finished_folders(chosen.folders)
    require_writable(chosen.out.parent)
    pages = write_pages(
        folders,
        chosen.out,
        budget_tolerance=chosen.budget_tolerance,
        margin=chosen.margin / 100,
    )
    if chosen.markdown and not chosen.json:
        print("\n".join(as_markdown(summary) for _, summary in pages.reports), end="")
        for curve in pages.curves:
            print(f"\n{curve_tables.as_markdown(curve)}", end="")
    else:
        show(pages, as_json=chosen.json)
    return 0
