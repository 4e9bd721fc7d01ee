"""Folders that can be written, JSON on standard output, and the pages of finished cells."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phaser.core.errors import BadInput, CannotWrite

if TYPE_CHECKING:
    from phaser.report.summary import Summary


def require_writable(folder: Path) -> None:
    """Fail before hours of work, not after them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CannotWrite(
            f"cannot write into {folder}: {error.strerror}; free space or choose another folder"
        ) from error


def finished_folders(places: Sequence[Path]) -> list[Path]:
    """Cell folders that are finished, at or below each place."""
    found: list[Path] = []
    for place in places:
        here = sorted(done.parent for done in place.rglob("done.json"))
        if not here:
            raise BadInput(f"{place} holds no finished run; expected a folder with done.json in it")
        found += here
    return list(dict.fromkeys(found))


def write_pages(
    folders: Sequence[Path],
    out: Path,
    *,
    budget_tolerance: float = 0.01,
    margin: float | None = None,
) -> list[tuple[Path, Summary]]:
    """One page per budget, in frames or bytes; methods without memory are in all of them."""
    from phaser.evaluation.equivalence import MARGIN
    from phaser.report.by_budget import folders_by_budget
    from phaser.report.page import write_report

    given = folders_by_budget(folders)
    pages = {out.with_stem(f"{out.stem}-b{one.slug}"): cells for one, cells in given.items()}
    return [
        (
            page,
            write_report(cells, page, budget_tolerance=budget_tolerance, margin=margin or MARGIN),
        )
        for page, cells in (pages if len(given) > 1 else {out: folders}).items()
    ]


def show(pages: Sequence[tuple[Path, Summary]], *, as_json: bool, **more: Any) -> None:
    """Table, sentence and path of every page; or one JSON object."""
    if as_json:
        reports = [{"page": str(page), **summary_json(summary)} for page, summary in pages]
        print_json({**more, "reports": reports} if len(reports) > 1 else {**more, **reports[0]})
        return
    from phaser.report.tables import as_text

    for page, summary in pages:
        print(f"\n{as_text(summary)}\n\n{summary.sentence}\n\nreport: {page.resolve()}")
    sys.stdout.flush()


def summary_json(summary: Summary) -> dict[str, Any]:
    return {
        "sentence": summary.sentence,
        "num_tasks": summary.num_tasks,
        "complete": summary.complete,
        "measure": summary.measure,
        "unmeasured_tasks": list(summary.unmeasured),
        "methods": [asdict(row) for row in summary.rows],
        "overhead": [asdict(row) for row in summary.overhead],
    }


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False), flush=True)
