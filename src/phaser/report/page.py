"""The report: one self-contained HTML page that loads nothing; its one script is its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path

from phaser.core.files import write_text
from phaser.evaluation.equivalence import MARGIN
from phaser.evaluation.metrics import DEFINITIONS
from phaser.methods.table import METHODS
from phaser.report import circumstances, milestones, overhead, provenance, tables
from phaser.report.asr_figure import success_dots
from phaser.report.contrasts import EVERY, Contrasts
from phaser.report.curves_figure import forgetting_curves, same_order
from phaser.report.equal_budgets import check_budgets
from phaser.report.loss_section import loss_section
from phaser.report.loss_summary import measured_at_the_end
from phaser.report.matrix_figure import FEW, has_few, retention_matrices
from phaser.report.phase_figure import reading, short_and_long_bars, worst_phases
from phaser.report.routing_figure import routing_matrices
from phaser.report.runs import RunResult, read_runs, same_tasks
from phaser.report.sections import document, glossary, method_table, paired_differences, section
from phaser.report.source import Source
from phaser.report.summary import Summary, by_method, summarise
from phaser.report.svg import element
from phaser.report.task_section import task_section
from phaser.report.wording import counted


def write_report(
    run_folders: Sequence[Path],
    out: Path,
    *,
    budget_tolerance: float = 0.01,
    margin: float = MARGIN,
    contrasts: Contrasts = EVERY,
) -> Summary:
    """Read finished runs, refuse unequal budgets, write the page, return what it says.

    margin: success rates that differ by less are called equal, where that is shown.
    contrasts: the comparisons that were asked for.
    """
    runs, summary = compare(
        run_folders, budget_tolerance=budget_tolerance, margin=margin, contrasts=contrasts
    )
    source = Source(
        runs=tuple(run_folders),
        budget_tolerance=budget_tolerance,
        margin=margin,
        contrasts=contrasts,
    )
    write_text(out, render(runs, summary, out, source=source))
    return summary


def compare(
    run_folders: Sequence[Path],
    *,
    budget_tolerance: float = 0.01,
    margin: float = MARGIN,
    contrasts: Contrasts = EVERY,
) -> tuple[tuple[RunResult, ...], Summary]:
    """What `write_report` reads and says, without a page."""
    runs, unmeasured = measured_at_the_end(read_runs(run_folders))
    check_budgets(runs, budget_tolerance)
    return runs, summarise(runs, unmeasured=unmeasured, margin=margin, contrasts=contrasts)


def render(
    runs: Sequence[RunResult],
    summary: Summary,
    page: Path | None = None,
    *,
    source: Source | None = None,
) -> str:
    """The page as text.

    page: where it will be; links to clips start there.
    source: what to write into it about its runs.
    """
    success = (
        () if summary.losses else (_results, _matrices(page), task_section, _curves, _milestones)
    )
    sections = (
        _headline(runs, summary),
        loss_section(runs, summary) if summary.losses else "",
        *(make(runs, summary) for make in success),
        _phases(runs, summary),
        _routing(runs),
        _overhead(summary),
        _budget(runs),
        _repeat(runs),
    )
    meta = "" if source is None or page is None else source.meta(page)
    return document(f"What was kept: {runs[0].suite}", "".join(sections), meta)


def _headline(runs: Sequence[RunResult], summary: Summary) -> str:
    names = by_method(runs)
    facts = (
        f"{runs[0].suite}, preset {runs[0].preset}: {counted(summary.num_tasks, 'task')} learnt "
        f"one after another, {counted(len(runs), 'run')}. {circumstances.told(runs)}"
    )
    words = [
        (name, METHODS[name].summary if name in METHODS else "a method of your own")
        for name in names
    ]
    return element(
        "header",
        element("p", "What was learnt, and what was kept", class_="kicker")
        + element("h1", escape(summary.answer))
        + element("p", escape(summary.sentence), class_="lead")
        + element("p", escape(facts), class_="lead")
        + element("h2", "The methods")
        + glossary(words),
    )


def _results(runs: Sequence[RunResult], summary: Summary) -> str:
    bound = "" if summary.complete else " Not every stage was evaluated: a lower bound."
    words = [
        (name, meaning + bound if name == "Forgetting" else meaning)
        for name, meaning in DEFINITIONS
    ]
    return section(
        "Results",
        "Average success after the last task: large mark the mean, small marks the seeds, line the "
        f"95 % interval (Student's t) over {_varied(runs)}.",
        success_dots(summary.table, by_method(runs)),
        method_table(tables.FIRST_HEADINGS, tables.chosen(summary, tables.FIRST_HEADINGS)),
        element(
            "details",
            element("summary", "All metrics, and what they mean")
            + method_table(tables.MORE_HEADINGS, tables.chosen(summary, tables.MORE_HEADINGS))
            + glossary(words),
        ),
        paired_differences(
            summary,
            "Difference of ASR in points over the seeds both methods have: same order, same "
            f"initial states. 95 % interval (Student's t) over {_varied(runs)}.",
        ),
    )


def _varied(runs: Sequence[RunResult]) -> str:
    if same_tasks(runs):
        return "seeds and tasks (with one seed, over tasks only)"
    return "streams, each a seed with tasks of its own"


def _matrices(page: Path | None) -> Callable[[Sequence[RunResult], Summary], str]:
    return partial(_matrices_of, page)


def _matrices_of(page: Path | None, runs: Sequence[RunResult], summary: Summary) -> str:
    groups = by_method(runs)
    few = (
        f" A dotted frame marks cells of fewer than {FEW} rollouts: mostly luck."
        if has_few(groups)
        else ""
    )
    orders = (
        ""
        if same_order(groups)
        else (
            " Seeds trained in different orders, so a column is the task learnt at that position."
        )
    )
    return section(
        "Retention matrices",
        "Each row is a stage of training, each numbered column the task learnt at that stage; the "
        "diagonal is success just after learning. A column that pales downwards is a task being "
        "forgotten. Numbers are percent over all seeds; hatched cells were not evaluated."
        + orders
        + few,
        retention_matrices(groups, page),
    )


def _curves(runs: Sequence[RunResult], summary: Summary) -> str:
    if not same_tasks(runs):
        return section(
            "Learning and forgetting, task by task",
            "Every stream has tasks of its own, so no task has enough runs for a curve: see the "
            "matrices above, whose columns are positions in a stream.",
        )
    groups = by_method(runs)
    orders = (
        ""
        if same_order(groups)
        else (" Seeds trained in different orders: later stages are known from fewer seeds.")
    )
    return section(
        "Learning and forgetting, task by task",
        "Success in percent from the moment a task is learnt. Stages that were not evaluated are "
        "bridged by a straight line." + orders,
        forgetting_curves(groups),
    )


def _milestones(runs: Sequence[RunResult], summary: Summary) -> str:
    groups = by_method(runs)
    rows = milestones.method_rows(groups)
    if not rows:
        return ""
    each = provenance.table(milestones.headings(groups), milestones.milestone_rows(groups))
    return section(
        "How far failed rollouts came",
        "Rollouts that were not solved after the last task, and the share of their task's "
        "milestones that they ever reached: touched, grasped, lifted, opened, put in place.",
        provenance.table(milestones.HEADINGS, rows),
        element("details", element("summary", "Task by task, milestone by milestone") + each),
    )


def _phases(runs: Sequence[RunResult], summary: Summary) -> str:
    groups = by_method(runs)
    rows = worst_phases(groups)
    headings = ("method", "phase", "share of task", "when learnt", "at the end", "increase")
    worst = ""
    if rows:
        worst = element(
            "details",
            element("summary", "Phases forgotten first, by growth of their loss")
            + provenance.table(headings, rows),
        )
    return section(
        "Short phases against long ones",
        "Action loss on held-out demonstrations after the last task; lower is better. Short means "
        "less than 18 % of the task: the brief decisive moments that uniform replay may starve. "
        "Thin lines show one standard deviation over phases. Differences are paired by seed, with "
        "a 95 % interval (Student's t) over seeds; below zero is better.",
        short_and_long_bars(groups),
        provenance.table(tables.phase_headings(summary), tables.phase_loss_rows(summary))
        if len(summary.phases) > 1
        else "",
        reading(groups),
        worst,
    )


def _routing(runs: Sequence[RunResult]) -> str:
    return section(
        "What was rehearsed",
        "Rows are new tasks, columns old phases. Numbers are the rehearsal weight relative to an "
        "equal share per phase: 2.0 is twice as often (purple), 0.5 half as often (orange). "
        "Entropy below that of equal shares means concentrated rehearsal.",
        routing_matrices(by_method(runs)),
    )


def _overhead(summary: Summary) -> str:
    return section(
        "What it cost",
        overhead.EXPLANATION,
        method_table(overhead.HEADINGS, tables.overhead_table_rows(summary)),
    )


def _budget(runs: Sequence[RunResult]) -> str:
    groups = by_method(runs)
    headings, rows = provenance.budget_rows(groups)
    statement = element("p", escape(provenance.budget_statement(groups)), class_="statement")
    return section(
        "Budget certificate",
        "Frames kept per task, in brackets per phase, for the first seed of each method; encoded "
        "bytes where the budget was given in bytes.",
        statement,
        provenance.table(headings, rows),
    )


def _repeat(runs: Sequence[RunResult]) -> str:
    lines = "\n".join(provenance.commands(runs))
    differing = provenance.differing_settings(runs)
    details = ""
    if differing:
        details = element(
            "details",
            element("summary", "Settings that differ between runs")
            + provenance.table(("setting", "values"), differing),
        )
    return section(
        "Repeat it",
        "These commands, on these versions, give these numbers.",
        element("pre", escape(lines), tabindex=0, role="region", aria_label="Commands"),
        provenance.table(("what", "version"), provenance.version_rows(runs)),
        details,
    )
