"""The results of a stream: held-out losses as cells of a table, and as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from phaser.core.files import write_text
from phaser.evaluation.phase_losses import LOSSES_SCHEMA, PhaseLoss, phase_losses
from phaser.integrations.lerobot.measuring import LOSSES, read_losses
from phaser.integrations.lerobot.progress import IN_FORCE, Learnt, Progress
from phaser.integrations.lerobot.rollouts import ROLLOUTS
from phaser.integrations.lerobot.settings import ALL_SO_FAR
from phaser.memory.manifest import MANIFEST
from phaser.memory.store import Store
from phaser.report.provenance import table
from phaser.report.sections import document, glossary, section
from phaser.report.svg import element

PAGE = "report.html"
UNKNOWN = "–"


def write_page(memory: Path) -> Path:
    """Write the page of a stream beside its memory; returns its path."""
    path = Progress(memory).folder / PAGE
    write_text(path, render(memory))
    return path


def render(memory: Path) -> str:
    """The page as text."""
    learnt, rows = read_stream(memory)
    names = ", ".join(one.name for one in learnt)
    methods = ", ".join(dict.fromkeys(one.method for one in learnt))
    header = element(
        "header",
        element("p", "LeRobot policy, learnt dataset by dataset", class_="kicker")
        + element("h1", escape(sentence(learnt, rows)))
        + element("p", escape(f"Datasets in order: {names}. Method: {methods}."), class_="lead"),
    )
    headings, cells = loss_table(learnt, rows)
    parts = [
        header,
        section(
            "Held-out loss",
            "Loss of the policy on each dataset's last episodes, which were never trained on, "
            "after each task; the mean over the dataset's phases. A row that grows to the right "
            "is forgotten.",
            table(headings, cells),
            glossary(_words(learnt)),
        ),
        _success(memory),
        _phases(rows),
        _kept(memory),
        _runs(learnt),
    ]
    return document("LeRobot stream", "".join(parts))


def sentence(learnt: Sequence[Learnt], rows: Sequence[dict[str, Any]]) -> str:
    """What became of the first dataset, in one line."""
    first = _mean(rows, task=0, after=0)
    last = _mean(rows, task=0, after=len(learnt) - 1)
    if len(learnt) < 2 or first is None or last is None:
        return f"{len(learnt)} dataset{'s' if len(learnt) != 1 else ''} learnt"
    return (
        f"The loss of the first of {len(learnt)} datasets went from {first:.3g} when it was "
        f"learnt to {last:.3g} after the last"
    )


def _words(learnt: Sequence[Learnt]) -> list[tuple[str, str]]:
    found = [("Loss", "the policy's own training loss, without dropout; lower is better.")]
    if any(one.statistics == ALL_SO_FAR for one in learnt):
        found.append(
            (
                "Unit",
                "actions are normalised by the statistics of all datasets so far, so the unit "
                "changes a little with each: compare two policies after the same dataset.",
            )
        )
    return found


def loss_table(
    learnt: Sequence[Learnt], rows: Sequence[dict[str, Any]]
) -> tuple[list[str], list[list[str]]]:
    """One row per dataset, one column per task that it was measured after."""
    headings = ["dataset", *(f"after {one.name}" for one in learnt)]
    cells = [
        [one.name, *(_known(_mean(rows, task=place, after=after)) for after in range(len(learnt)))]
        for place, one in enumerate(learnt)
    ]
    return headings, cells


def success_table(memory: Path) -> tuple[list[str], list[list[str]]]:
    """Successes and rollouts of each dataset with an environment, after each task; no rows where
    there are none."""
    learnt = Progress(memory).learnt()
    found = {
        (row["task_index"], row["after_index"]): f"{row['successes']} of {row['rollouts']}"
        for row in read_losses(Progress(memory).folder / ROLLOUTS)
    }
    headings = ["dataset", *(f"after {one.name}" for one in learnt)]
    cells = [
        [one.name, *(found.get((place, after), UNKNOWN) for after in range(len(learnt)))]
        for place, one in enumerate(learnt)
    ]
    return headings, cells if found else []


def _success(memory: Path) -> str:
    headings, cells = success_table(memory)
    if not cells:
        return ""
    return section(
        "Success in simulation",
        "Rollouts that LeRobot counts as a success, of every dataset whose run named an "
        "environment, after each task.",
        table(headings, cells),
    )


def _phases(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    found = phase_losses(pa.Table.from_pylist(list(rows), schema=LOSSES_SCHEMA))
    return section(
        "Phase by phase",
        "Held-out loss after the last task, and how much it grew since the dataset was learnt.",
        table(
            ["dataset", "phase", "share of frames", "loss", "growth"],
            [_phase_cells(one) for one in found],
        ),
    )


def _phase_cells(one: PhaseLoss) -> list[str]:
    grown = UNKNOWN if one.increase is None else f"{one.increase + 0.0:+.3g}".replace("-", "−")
    return [one.task, one.phase, f"{100 * one.share:.0f} %", f"{one.final_loss:.3g}", grown]


def _kept(memory: Path) -> str:
    if not (memory / MANIFEST).exists():
        return ""
    held = Store.open(memory).certificate()
    rows = [
        [task, str(frames), f"{held['bytes_per_task'].get(task, 0):,}"]
        for task, frames in held["frames_per_task"].items()
    ]
    if not rows:
        return section("Memory", "Nothing was kept: the method rehearses nothing.")
    return section(
        "Memory",
        "Frames of each dataset that are rehearsed, counted from the memory itself.",
        table(["dataset", "frames", "bytes"], rows),
    )


def _runs(learnt: Sequence[Learnt]) -> str:
    rows = [
        [one.name, one.repo_id, str(one.num_steps), str(len(one.held_out)), one.instruction]
        for one in learnt
    ]
    return section(
        "Datasets",
        f"The numbers of this page are in {LOSSES}, the policy's statistics in {IN_FORCE}.",
        table(["name", "repository or folder", "steps", "held-out episodes", "instruction"], rows),
    )


def read_stream(memory: Path) -> tuple[tuple[Learnt, ...], list[dict[str, Any]]]:
    """Finished tasks and measured losses of a stream."""
    progress = Progress(memory)
    return progress.learnt(), read_losses(progress.folder / LOSSES)


def _mean(rows: Sequence[dict[str, Any]], *, task: int, after: int) -> float | None:
    """The mean over the phases of a dataset."""
    found = [
        row["loss"] for row in rows if (row["task_index"], row["after_index"]) == (task, after)
    ]
    return sum(found) / len(found) if found else None


def _known(loss: float | None) -> str:
    return UNKNOWN if loss is None else f"{loss:.3g}"
