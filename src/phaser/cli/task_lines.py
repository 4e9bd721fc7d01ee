"""The line that stays when a task is learnt: what a method can do now, and what it still can."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from phaser.cli.text_table import printable
from phaser.experiments.events import Measured
from phaser.experiments.run import Run

Tally = tuple[int, int]


def task_line(label: str, run: Run, event: Measured, *, width: int = 80) -> str:
    """Solved rollouts of the new task and of the earlier ones."""
    counts, num_tasks = event.counts, len(run.suite.tasks())
    if not counts:
        return f"{label}  {heldout_line(run, event)}"
    if run.method.joint:
        return f"{label}  all {num_tasks} tasks at once: {_solved(counts.values())} rollouts"
    name = printable(event.task)
    learnt = f"{label}  {event.index + 1}/{num_tasks} {name}: {_solved([counts[event.task]])}"
    earlier = [tally for task, tally in counts.items() if task != event.task]
    if not earlier:
        return learnt
    solved = _solved(earlier)
    tasks = "the earlier task" if len(earlier) == 1 else f"the {len(earlier)} earlier tasks"
    counted = solved.removeprefix("solved ")
    texts = (
        f"{learnt}, of {tasks} {counted} ({_share(earlier)})",
        f"{learnt}, of {tasks} {counted}",
        f"{learnt}, earlier {counted}",
    )
    two_lines = f"{learnt}\n{' ' * len(label)}  {tasks}: {solved}"
    return next((text for text in texts if len(text) <= width), two_lines)


def heldout_line(run: Run, event: Measured) -> str:
    """Held-out losses after a task, where there is no simulator."""
    losses, num_tasks = dict(event.heldout), len(run.suite.tasks())
    if run.method.joint:
        return f"all {num_tasks} tasks at once: held-out loss {_mean(losses.values())}"
    own = [losses.pop(event.task)] if event.task in losses else []
    name = printable(event.task)
    line = f"{event.index + 1}/{num_tasks} {name}: held-out loss {_mean(own)}"
    if not losses:
        return line
    tasks = "the earlier task" if len(losses) == 1 else f"{len(losses)} earlier tasks"
    return f"{line}, of {tasks} {_mean(losses.values())}"


def _mean(losses: Collection[float]) -> str:
    return f"{sum(losses) / len(losses):.3f}" if losses else "not measured"


def _solved(tallies: Iterable[Tally]) -> str:
    pairs = list(tallies)
    return f"solved {sum(solved for solved, _ in pairs)} of {sum(tried for _, tried in pairs)}"


def _share(tallies: Collection[Tally]) -> str:
    tried = sum(tried for _, tried in tallies)
    return f"{100 * sum(solved for solved, _ in tallies) / tried:.0f} %"
