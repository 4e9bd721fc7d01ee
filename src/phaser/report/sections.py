"""Parts that several sections of the page have: a frame with a title, words explained, tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from phaser.report import provenance, settled, tables
from phaser.report.script import HASH, SCRIPT
from phaser.report.style import STYLE
from phaser.report.summary import Summary
from phaser.report.svg import element

POLICY = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{HASH}'"
"""Even if a name slipped through the escaping, the browser would load nothing, and run nothing but
our own script."""


def document(title: str, content: str, meta: str = "") -> str:
    """A whole page; `content` and `meta` are markup that is already escaped."""
    head = "".join(
        (
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            meta,
            element("title", escape(title)),
            element("style", STYLE),
        )
    )
    body = element("body", element("main", content) + element("script", SCRIPT))
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
    """Every comparison with what it settles; nothing where there is none."""
    found = [one for row in summary.rows for one in row.differences.values()]
    if not found:
        return ""
    lead = (
        f"{meaning} p from flipping the signs of the seeds' differences, which cannot fall below "
        "2 / 2ⁿ for n seeds; Holm: corrected for the other comparisons"
        + (" that were asked for." if summary.contrasts.asked else " with the same method.")
    )
    rows = [
        (*row, settled.verdict(one), str(one.num_seeds))
        for row, one in zip(tables.compared_rows(summary), found, strict=True)
    ]
    equal = "" if summary.losses else _equality(summary)
    return (
        element("h3", "Paired differences, and what they settle")
        + element("p", escape(lead), class_="lead")
        + method_table((*tables.COMPARED_HEADINGS, "settled", "seeds"), rows)
        + element("p", escape(settled.EXPLANATION), class_="lead")
        + equal
    )


def _equality(summary: Summary) -> str:
    """The intervals and tests behind "shown to be equal", folded away."""
    rows = [row[:-1] for row in settled.rows(summary)]
    content = provenance.table(settled.headings(summary)[:-1], rows)
    return element("details", element("summary", "Tests of equality within the margin") + content)
