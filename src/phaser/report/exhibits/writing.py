"""Exhibits as files: CSV, LaTeX with booktabs, PNG and PDF."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

from phaser.core.files import write_text
from phaser.report.exhibits import losses, routed, scaling, success
from phaser.report.exhibits.exhibit import Exhibit, shown
from phaser.report.runs import RunResult, rank, read_run

Make = Callable[[Sequence[RunResult]], Exhibit | None]
EXHIBITS: dict[str, Make] = {
    "main-table": success.main_table,
    "ablation": success.ablation,
    "zero-budget": losses.zero_budget,
    "zero-budget-tasks": losses.zero_budget_tasks,
    "phase-sources": success.phase_sources,
    "task-orders": success.task_orders,
    "capacity": scaling.capacity,
    "overhead": scaling.overhead,
    "routing-matrix": routed.routing_matrix,
    "routing-entropy": routed.routing_entropy,
    "amplification": routed.amplification,
    "routed-loss": routed.routed_loss,
    "loss-by-length": losses.loss_by_length,
    "sweeps": scaling.sweeps,
    "per-task": success.per_task,
    "phase-lengths": losses.phase_lengths,
    "retention": success.retention,
}
"""Every table and figure of the paper, by the name of its files."""


def export(folders: Sequence[Path], out: Path) -> tuple[list[Path], list[str]]:
    """Write every exhibit that the runs have numbers for; also the names of the others."""
    from phaser.report.exhibits.drawing import draw

    runs = sorted((read_run(folder) for folder in folders), key=rank)
    written: list[Path] = []
    missing = []
    for name, make in EXHIBITS.items():
        exhibit = make(runs)
        if exhibit is None:
            missing.append(name)
            continue
        for suffix, text in (("csv", as_csv(exhibit)), ("tex", as_latex(exhibit))):
            written.append(out / f"{name}.{suffix}")
            write_text(written[-1], text)
        written += draw(exhibit, out)
    return written, missing


def as_csv(exhibit: Exhibit) -> str:
    """All digits; an empty cell where there is no number."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(exhibit.headings)
    writer.writerows(exhibit.rows)
    return stream.getvalue()


def as_latex(exhibit: Exhibit) -> str:
    """A table for \\usepackage{booktabs}."""
    lines = [" & ".join(map(escaped, map(shown, row))) + r" \\" for row in exhibit.rows]
    columns = "l" + "r" * (len(exhibit.headings) - 1)
    return "\n".join(
        [
            r"\begin{table}[h]",
            r"\centering",
            rf"\caption{{{escaped(exhibit.caption)}}}",
            rf"\label{{tab:{exhibit.name}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(escaped, exhibit.headings)) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


SIGNS = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"−": "$-$", "±": r"$\pm$", "α": r"$\alpha$", "γ": r"$\gamma$", "τ": r"$\tau$", "–": "--"},
}


def escaped(text: str) -> str:
    """Text in which LaTeX finds nothing to carry out."""
    return "".join(SIGNS.get(letter, letter) for letter in text)
