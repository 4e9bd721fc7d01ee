"""Where a page comes from, written into it: its runs and how they were compared.

`phaser report --check` reads this back and computes the page anew. Runs are named from the page's
own folder, so that both can be moved together and no page tells a machine's folders.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, BrokenFile
from phaser.evaluation.equivalence import MARGIN
from phaser.report.contrasts import EVERY, Contrasts

META = re.compile(r'<meta name="phaser-report" content="([^"]*)">')


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """The runs of a page and the choices that its numbers depend on."""

    runs: tuple[Path, ...]
    budget_tolerance: float = 0.01
    margin: float = MARGIN
    contrasts: Contrasts = EVERY
    over_budgets: bool = False
    """The page shows retention against memory."""

    def told(self, page: Path) -> dict[str, Any]:
        """As JSON, seen from the page's folder."""
        start = page.resolve().parent
        return {
            "runs": [os.path.relpath(run.resolve(), start) for run in sorted(self.runs)],
            "budget_tolerance": self.budget_tolerance,
            "margin": self.margin,
            "contrasts": [list(pair) for pair in self.contrasts.asked],
            "over_budgets": self.over_budgets,
        }

    def meta(self, page: Path) -> str:
        """As an element of the page's head."""
        return f'<meta name="phaser-report" content="{escape(json.dumps(self.told(page)))}">'


def source_in(text: str, page: Path) -> Source:
    """What a page says of its runs."""
    found = META.search(text)
    if found is None:
        raise BadInput(f"{page} does not say which runs it is from; write it again with report")
    try:
        value = json.loads(unescape(found[1]))
    except (ValueError, RecursionError) as error:
        raise BrokenFile(f"{page}: its runs are not readable ({error}); write it again") from error
    return source_from(value, page)


def source_from(value: Any, page: Path) -> Source:
    """Read what `told` wrote."""
    try:
        runs, pairs = _texts(value["runs"]), [_texts(pair) for pair in value["contrasts"]]
        numbers = [float(value[name]) for name in ("budget_tolerance", "margin")]
        if any(len(pair) != 2 for pair in pairs) or not runs:
            raise ValueError("no runs, or a contrast that is no pair")
    except (KeyError, TypeError, ValueError) as error:
        raise BrokenFile(
            f"{page}: what it says of its runs is {str(value)[:80]!r} ({error}); write it again"
        ) from error
    start = page.resolve().parent
    return Source(
        runs=tuple(Path(os.path.normpath(start / run)) for run in runs),
        budget_tolerance=numbers[0],
        margin=numbers[1],
        contrasts=Contrasts(tuple((one, other) for one, other in pairs)),
        over_budgets=isinstance(value, Mapping) and value.get("over_budgets") is True,
    )


def _texts(found: Any) -> Sequence[str]:
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError(f"{str(found)[:40]} is no list of texts")
    return found
