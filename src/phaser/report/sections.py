"""Parts that several sections of the page have: a frame with a title, words explained, tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from phaser.report import provenance, settled, tables
from phaser.report.style import STYLE
from phaser.report.summary import Summary
from phaser.report.svg import element

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Even if a name slipped through the escaping, the browser would run and load nothing."""


def document(title: str, content: str) -> str:
    """A whole page; `content` is markup that is already escaped."""
    head = "".join(
        (
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            element("title", escape(title)),
            element("style", STYLE),
        )
    )
    body = element("body", element("main", content))
    return f'<!doctype html><html lang="en">{element("head", head)}{body}</html>\n'


def section(title: str, explanation: str, *content: str) -> str:
    lead = element("p", escape(explanation), class_="lead")
    return element("section", element("h2", escape(title)) + lead + "".join(content))


def method_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with one row per method, in which the proposal stands out."""
    return provenance.table(headings, rows, strong=("phaser",))


def glossary(words: Iterable[tuple[str, str]]) -> str:
    found = (element("dt", escape(term)) + element("dd", escape(text)) for term, text in words)
    return element("dl", "".join(found))


def paired_differences(summary: Summary, meaning: str) -> str:
    """Every method beside the baselines; nothing where there is no baseline."""
    headings = tables.difference_headings(summary)
    if not headings:
        return ""
    lead = (
        f"{meaning} p from flipping the signs of the seeds' differences, which cannot fall below "
        "2 / 2ⁿ for n seeds."
    )
    return (
        element("h3", "Paired differences")
        + element("p", lead, class_="lead")
        + method_table(headings, tables.difference_rows(summary))
        + element("h3", "What is settled, and what could have been")
        + element("p", escape(settled.EXPLANATION), class_="lead")
        + provenance.table(settled.headings(summary), settled.rows(summary))
    )
