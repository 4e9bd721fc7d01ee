"""The tasks one by one: picture, instruction, what each method keeps of it, and exact tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from phaser.evaluation.intervals import wilson
from phaser.evaluation.mcnemar import TaskContrast
from phaser.report.pictures import pictures
from phaser.report.runs import RunResult, same_tasks
from phaser.report.sections import section
from phaser.report.summary import Summary, by_method
from phaser.report.svg import element, scrolling

MOST_TASKS = 300
"""Rows of the table, so that a page of thousands of streams stays small."""


def task_section(runs: Sequence[RunResult], summary: Summary) -> str:
    """A row per task in the order of the first run; streams with own tasks show the first one."""
    groups = by_method(runs)
    tasks = runs[0].tasks[:MOST_TASKS]
    alike = same_tasks(runs)
    shown = pictures(runs, tasks)
    pair, contrasts = _told(summary)
    headings = ["task", *(["picture"] if shown else []), *groups]
    if contrasts:
        headings.append(f"p, {pair[0]} against {pair[1]} (Holm)")
    rows = [_row(task, runs, groups, shown, contrasts) for task in tasks]
    head = element("tr", "".join(element("th", escape(one), scope="col") for one in headings))
    table = element("table", element("thead", head) + element("tbody", "".join(rows)))
    lead = (
        "Rollouts solved after the last task, with Wilson's 95 % interval in percent."
        if alike
        else "Every stream has tasks of its own; these are the first one's."
    )
    if contrasts:
        lead += (
            " p from McNemar's exact test over initial states that one method alone solves: about "
            "these trained policies, not about other seeds."
        )
    return section("Task by task", lead, scrolling(table, "Tasks one by one"))


def _told(summary: Summary) -> tuple[tuple[str, str], dict[str, TaskContrast]]:
    """The last comparison that has a test per task: that of the method of interest."""
    found = [(pair, one) for pair, one in summary.by_task.items() if pair[1] != pair[0]]
    found.sort(key=lambda one: (one[0][0] == "phaser", one[0][1] == "er"))
    if not found:
        return ("", ""), {}
    pair, contrasts = found[-1]
    return pair, {one.task: one for one in contrasts}


def _row(
    task: str,
    runs: Sequence[RunResult],
    groups: Mapping[str, Sequence[RunResult]],
    shown: Mapping[str, str],
    contrasts: Mapping[str, TaskContrast],
) -> str:
    number = runs[0].tasks.index(task) + 1
    words = next((run.instructions[task] for run in runs if task in run.instructions), "")
    small = element("small", escape(words)) if words else ""
    cells = [element("td", escape(f"{number} {task}") + small)]
    if shown:
        picture = f'<img src="{shown[task]}" alt="" loading="lazy">' if task in shown else "–"
        cells.append(element("td", picture))
    cells += [element("td", _kept(task, group)) for group in groups.values()]
    if contrasts:
        one = contrasts.get(task)
        told = "–" if one is None else f"{one.p_value:.2g} ({one.p_corrected or 1.0:.2g})"
        cells.append(element("td", told))
    return element("tr", "".join(cells))


def _kept(task: str, runs: Sequence[RunResult]) -> str:
    cells = [run.matrix.final(task) for run in runs if task in run.tasks]
    if not cells:
        return "–"
    solved, tried = sum(one.successes for one in cells), sum(one.trials for one in cells)
    sure = wilson(solved, tried)
    return f"{solved}/{tried} [{100 * sure.lower:.0f}, {100 * sure.upper:.0f}]"
