"""The results of runs without rollouts: held-out losses in place of success rates."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from phaser.report import loss_tables, provenance, tables
from phaser.report.runs import RunResult
from phaser.report.sections import glossary, method_table, paired_differences, section
from phaser.report.summary import Summary, by_method
from phaser.report.svg import element

LEAD = (
    "There is no simulator, so success was not measured. The 95 % interval (Student's t) is over "
    "seeds and tasks (with one seed, over tasks only)."
)


def loss_section(runs: Sequence[RunResult], summary: Summary) -> str:
    """The comparison by held-out loss, and every task's loss when learnt and at the end."""
    groups = by_method(runs)
    remark = loss_tables.remark(summary.unmeasured)
    return section(
        "Results",
        LEAD,
        method_table(tables.main_headings(summary), tables.main_rows(summary)),
        element("p", escape(remark)) if remark else "",
        glossary(loss_tables.GLOSSARY),
        paired_differences(
            summary,
            "Difference of the held-out loss; below zero is better. 95 % interval (Student's t) "
            "over seeds and tasks.",
        ),
        element("h3", "Task by task"),
        element("p", "Held-out loss when a task was learnt → after the last task.", class_="lead"),
        provenance.table(loss_tables.task_headings(groups), loss_tables.task_rows(groups)),
    )
