"""`phaser report`: compare finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from phaser.cli.arguments import Parser, add_budget_tolerance
from phaser.cli.output import finished_folders, show, write_pages
from phaser.core.files import require_writable
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
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--markdown", action="store_true", help="print the table as markdown")
    chosen = parser.parse(arguments)
    folders = finished_folders(chosen.folders)
    require_writable(chosen.out.parent)
    pages = write_pages(folders, chosen.out, budget_tolerance=chosen.budget_tolerance)
    if chosen.markdown and not chosen.json:
        print("\n".join(as_markdown(summary) for _, summary in pages), end="")
    else:
        show(pages, as_json=chosen.json)
    return 0
