"""`phaser report`: compare finished runs, or recompute the numbers of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import fill

from phaser.cli.arguments import Parser, add_budget_tolerance, points_given
from phaser.cli.early import early_of, for_terminal
from phaser.cli.output import print_json, show, write_pages
from phaser.cli.text_table import columns, counted
from phaser.core.files import require_writable

DIFFERS = 1
"""The exit code where a document says something else than its runs."""

INSTEAD = {"check": {"json", "update"}, "arms": {"json", "markdown"}, "export": {"json"}}
"""Flags that replace the page, each with the flags that still count beside it."""


def execute(arguments: Sequence[str]) -> int:
    parser = _parser()
    chosen = parser.parse(arguments)
    _refuse_ignored(parser, vars(chosen))
    if chosen.check:
        if chosen.folders:
            parser.error("--check takes documents, which name their runs themselves; leave out DIR")
        return _check(chosen.check, as_json=chosen.json, update=chosen.update)
    if chosen.update:
        parser.error("--update goes with --check FILE")
    if not chosen.folders:
        parser.error("the following arguments are required: DIR")
    if chosen.arms:
        return _arms(chosen.folders, as_json=chosen.json, markdown=chosen.markdown)
    # Imported here: help and --check need no tables.
    from phaser.report import curve_tables
    from phaser.report.runs import finished_folders
    from phaser.report.tables import as_markdown

    folders = finished_folders(chosen.folders)
    if chosen.export is not None:
        return _export(folders, chosen.export, as_json=chosen.json)
    require_writable(chosen.out.parent)
    pages = write_pages(
        folders,
        chosen.out,
        budget_tolerance=chosen.budget_tolerance,
        margin=chosen.margin / 100,
        contrasts=[(method, other) for method, other in chosen.contrast],
    )
    early = early_of(pages) if chosen.stop_early else {}
    if chosen.markdown and not chosen.json:
        print("\n".join(as_markdown(summary) for _, summary in pages.reports), end="")
        for curve in pages.curves:
            print(f"\n{curve_tables.as_markdown(curve)}", end="")
    else:
        show(pages, as_json=chosen.json, **early)
    if early and not chosen.json:
        print(for_terminal(early["lines"]))
    return 0


def _parser() -> Parser:
    parser = Parser("report", "Compare finished runs: a table with intervals and one HTML page.")
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        metavar="DIR",
        help="folders of runs, or of grids; DIR@0-5: those of seeds 0 to 5",
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
    parser.add_argument(
        "--contrast",
        nargs=2,
        action="append",
        default=[],
        metavar=("METHOD", "OTHER"),
        help="compare these two, once per pair; p values are corrected among the pairs asked for "
        "(default: every method with er and er-even)",
    )
    parser.add_argument(
        "--stop-early",
        action="store_true",
        help="also say whether the streams so far decide each comparison; may be asked after "
        "every stream without raising the error above 5 %%",
    )
    _add_other_outputs(parser)
    return parser


def _add_other_outputs(parser: Parser) -> None:
    """Flags that print or write something else than the page."""
    parser.add_argument(
        "--export",
        type=Path,
        metavar="FOLDER",
        help="instead: every table and figure of the paper that these runs have numbers for, as "
        "CSV, LaTeX (booktabs), PNG and PDF; budgets, orders, phases and settings may differ",
    )
    parser.add_argument(
        "--arms",
        action="store_true",
        help="instead: each DIR is an arm, runs that differ in their seed alone; all are compared "
        "with the first, paired by seed, whatever method, budget or recipe they have",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--markdown", action="store_true", help="print the table as markdown")
    parser.add_argument(
        "--check",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="instead: recompute every number of pages (.html) and of saved --json (.json), and of "
        "documents (.md) that name their runs in comments; exit code 1 where one differs",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="with --check: write the recomputed numbers into the documents (.md)",
    )


def _refuse_ignored(parser: Parser, chosen: Mapping[str, object]) -> None:
    """A flag that would be ignored beside --check, --arms or --export is a mistake."""
    given = [name for name, value in chosen.items() if value != parser.get_default(name)]
    for instead in (name for name in INSTEAD if name in given):
        for name in given:
            if name not in {instead, "folders", *INSTEAD[instead]}:
                flag = name.replace("_", "-")
                parser.error(f"--{instead} takes no --{flag}; leave one of the two out")


def _export(folders: Sequence[Path], out: Path, *, as_json: bool) -> int:
    from phaser.report.exhibits.writing import export

    require_writable(out.parent)
    written, missing = export(folders, out)
    if as_json:
        print_json({"files": [str(path) for path in written], "without_numbers": missing})
        return 0
    print(f"{counted(len(written), 'file')} in {out.resolve()}")
    if missing:
        print(fill(f"these runs have no numbers for: {', '.join(missing)}", 80))
    return 0


def _arms(folders: Sequence[Path], *, as_json: bool, markdown: bool) -> int:
    from phaser.report import arms

    given = [arms.Arm.read(folder) for folder in folders]
    if as_json:
        print_json({"arms": arms.as_json(given)})
    else:
        print("\n".join(arms.rows(given) if markdown else columns(arms.text_rows(given))))
        if said := arms.repeated_order(given):
            print("\n" + fill(said, 79))
    return 0


def _check(documents: Sequence[Path], *, as_json: bool, update: bool) -> int:
    from phaser.report import updated_numbers
    from phaser.report.checked_numbers import Checker

    checker = Checker()
    found = {document: checker.check(document) for document in documents}
    numbers = [number for checked in found.values() for number in checked]
    wrong = [number for number in numbers if not number.agrees]
    if as_json:
        print_json({"numbers": [asdict(one) | {"agrees": one.agrees} for one in numbers]})
    else:
        for one in wrong:
            print(
                f"{one.file}:{one.line}: {one.written}, recomputed {one.recomputed}: {one.comment}"
            )
        print(f"{counted(len(numbers), 'number')} recomputed, {len(wrong)} of them differ")
    if not update:
        return DIFFERS if wrong else 0
    written = updated_numbers.update(found)
    if not as_json:
        print(f"{counted(written, 'number')} written")
    return 0
