"""Pages and JSON of a report, computed anew from the rows of the runs that they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, BrokenFile
from phaser.report import curve_page
from phaser.report.checked_numbers import NUMBER, CheckedNumber
from phaser.report.page import compare, render
from phaser.report.source import Source, source_from, source_in
from phaser.report.summary_json import curves_json, summary_json

SAID = ("title", "aria-label", "style", "points", "x", "y", "width", "alt")
"""Attributes that carry numbers of the results: tooltips, places and sizes."""


def check_page(path: Path, text: str) -> list[CheckedNumber]:
    """Every number of a page, in words, tooltips and drawings, beside the recomputed one."""
    source = source_in(text, path)
    if source.over_budgets:
        again = curve_page.page_of(source, path, curve_page.curves_of(source))
    else:
        runs, summary = _compared(source)
        again = render(runs, summary, path, source=source)
    return _paired(path, list(_texts(text)), list(_texts(again)))


def check_json(path: Path, text: str) -> list[CheckedNumber]:
    """Every number that `phaser report --json` printed."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenFile(
            f"{path} is not JSON ({error}); save what report --json printed"
        ) from error
    found: list[CheckedNumber] = []
    reports = value.get("reports", [value]) if isinstance(value, dict) else []
    for one in reports:
        if not isinstance(one, dict) or not isinstance(one.get("source"), dict):
            raise BadInput(f"{path} does not say which runs it is from; print it again")
        # Runs are named from the folder of the page that was written beside it.
        again = summary_json(_compared(source_from(one["source"], _beside(path, one)))[1])
        kept = {name: one.get(name) for name in again}
        found += _paired(path, list(_leaves(kept)), list(_leaves(again)))
    if isinstance(value, dict) and value.get("curves"):
        source = source_from(value["source"], _beside(path, value))
        again = {"curves": curves_json(curve_page.curves_of(source))}
        found += _paired(path, list(_leaves({"curves": value["curves"]})), list(_leaves(again)))
    return found


def _beside(path: Path, told: dict[str, Any]) -> Path:
    page = told.get("page")
    return Path(page) if isinstance(page, str) else path


def _compared(source: Source) -> Any:
    return compare(
        source.runs,
        budget_tolerance=source.budget_tolerance,
        margin=source.margin,
        contrasts=source.contrasts,
    )


Text = tuple[int, str, str]
"""Line, where it stands, and what is said there."""


def _paired(path: Path, written: list[Text], again: list[Text]) -> list[CheckedNumber]:
    found = []
    for one, other in zip_longest(written, again, fillvalue=(0, "", "")):
        numbers = zip_longest(NUMBER.findall(one[2]), NUMBER.findall(other[2]), fillvalue="nan")
        for shown, recomputed in numbers:
            found.append(
                CheckedNumber(
                    file=str(path),
                    line=one[0],
                    comment=(one[1] or other[1])[:80],
                    written=shown,
                    recomputed=recomputed,
                )
            )
        if _words(one[2]) != _words(other[2]):
            raise BadInput(
                f"{path}:{one[0]}: says {one[2][:60]!r} where the runs give {other[2][:60]!r}; "
                "write the page again"
            )
    return found


def _words(text: str) -> str:
    return re.sub(r"\s+", " ", NUMBER.sub("#", text))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Text] = []
        self.section, self.silent = "", False
        self._heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent = tag in ("script", "style")
        self._heading = tag in ("h2", "h3", "figcaption")
        for name, value in attrs:
            if name in SAID and value:
                self.found.append((self.getpos()[0], self.section, value))

    def handle_data(self, data: str) -> None:
        if self.silent or not data.strip():
            return
        if self._heading:
            self.section, self._heading = data.strip(), False
        self.found.append((self.getpos()[0], self.section, data.strip()))


def _texts(page: str) -> Iterator[Text]:
    reader = _Reader()
    reader.feed(page)
    yield from reader.found


def _leaves(value: Any, where: str = "") -> Iterator[Text]:
    """Numbers and texts of a JSON value, with their path."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, f"{where}.{name}" if where else str(name))
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from _leaves(one, f"{where}[{place}]")
    else:
        yield 1, where, json.dumps(value)
