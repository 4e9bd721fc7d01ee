"""Runs without rollouts are compared by held-out loss, on the terminal, the page and in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import write_json
from phaser.evaluation.matrix import EPISODES_SCHEMA
from phaser.evaluation.phase_losses import LOSSES_SCHEMA, task_losses
from phaser.report.page import write_report
from phaser.report.runs import read_run
from phaser.report.summary_json import summary_json
from phaser.report.tables import as_markdown, as_text

TASKS = ("open", "lift", "carry")
PHASES = (("reach", 0.9), ("grasp", 0.1))
KEPT = {"sequential": 0.0, "er": 0.5, "phaser": 0.8, "joint": 1.0}
MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    def make(method: str, seed: int = 0, **changes: Any) -> Path:
        folder = tmp_path / f"{method}-{seed}"
        write_folder(folder, method, seed, **changes)
        return folder

    return make


def write_folder(
    folder: Path,
    method: str,
    seed: int,
    *,
    gone: Collection[str] = (),
    tasks: Sequence[str] = TASKS,
    rows: list[dict[str, Any]] | None = None,
) -> None:
    folder.mkdir(parents=True)
    keeps = method not in ("sequential", "joint")
    about = {
        "name": folder.name,
        "suite": "datasets",
        "preset": "datasets",
        "method": method,
        "seed": seed,
        "order": "default",
        "tasks": list(tasks),
        "budget": {"amount": 8, "unit": "frames", "per": "task"} if keeps else None,
        "settings": {"fit": {"steps_per_task": 30}},
        "versions": {"python": "3.11.9"},
        "commit": "0123abc",
        "command": f"phaser run datasets --method {method} --seed {seed}",
    }
    write_json(folder / "run.json", about)
    episodes = pa.Table.from_pylist([], schema=EPISODES_SCHEMA)
    pq.write_table(episodes, folder / "episodes.parquet")
    found = loss_rows(method, seed, tasks, gone) if rows is None else rows
    pq.write_table(pa.Table.from_pylist(found, schema=LOSSES_SCHEMA), folder / "losses.parquet")
    write_json(folder / "routing.json", [])
    held = [
        {"task": task, "index": k, "label": label, "frames": 4}
        for task in tasks
        for k, (label, _) in enumerate(PHASES)
    ]
    frames = dict.fromkeys(tasks, 8) if keeps else {}
    write_json(
        folder / "budget.json",
        {
            "frames_per_task": frames,
            "frames_per_phase": held if keeps else [],
            "total_frames": sum(frames.values()),
        },
    )
    write_json(folder / "timing.json", {"total_cpu_s": 12.0})
    write_json(folder / "done.json", {})


def loss_rows(
    method: str, seed: int, tasks: Sequence[str], gone: Collection[str]
) -> list[dict[str, Any]]:
    """A loss of 0.1 when learnt, and 0.1 more per later task for what is not kept."""
    last = len(tasks) - 1
    stages = [(last, "all")] if method == "joint" else list(enumerate(tasks))
    return [
        {
            "after_task": after,
            "after_index": j,
            "task": task,
            "task_index": i,
            "phase_index": k,
            "phase": label,
            "phase_share": share,
            "loss": 0.1 + 0.01 * seed + 0.02 * k + 0.1 * (1 - KEPT[method]) * (j - i),
            "num_frames": 40,
        }
        for j, after in stages
        for i, task in enumerate(tasks[: j + 1])
        if j == i or task not in gone
        for k, (label, share) in enumerate(PHASES)
    ]


def test_methods_are_compared_by_loss_and_by_what_was_forgotten(
    make_run: MakeRun, tmp_path: Path
) -> None:
    folders = [make_run(method, seed) for method in KEPT for seed in (0, 1)]
    summary = write_report(folders, tmp_path / "page.html")
    rows = {row.method: row for row in summary.losses}
    assert summary.table == ()
    # Mean of 0.11, the seeds' 0.005, and 0.1 · (1 − kept) · (2 + 1 + 0) / 3.
    assert rows["er"].loss.mean == pytest.approx(0.115 + 0.05)
    assert rows["phaser"].loss.mean == pytest.approx(0.115 + 0.02)
    assert rows["phaser"].learnt == pytest.approx(0.115)
    assert rows["phaser"].forgetting == pytest.approx(0.1 * 0.2 * 1.5)
    assert rows["joint"].forgetting is None
    assert rows["joint"].learnt is None
    assert rows["phaser"].short == pytest.approx(rows["phaser"].long + 0.02)
    difference = rows["phaser"].differences["er"]
    assert difference.mean == pytest.approx(-0.03)
    assert (difference.num_seeds, difference.num_tasks) == (2, 3)
    assert difference.p_corrected is not None
    assert "phaser has a held-out loss of 0.135 (lower is better); er has 0.165" in summary.sentence


def test_no_table_is_empty_and_no_number_is_missing(make_run: MakeRun, tmp_path: Path) -> None:
    summary = write_report([make_run("er"), make_run("phaser")], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for text in (page, as_text(summary), as_markdown(summary), json.dumps(summary_json(summary))):
        assert not re.search(r"\bnan\b|\binf\b", text, re.IGNORECASE)
    assert "<tbody></tbody>" not in page
    assert "success was not measured" in page
    assert "ASR" not in as_text(summary)
    assert summary_json(summary)["measure"] == "held-out loss"
    json.dumps(summary_json(summary), allow_nan=False)


def test_a_single_run_is_shown_without_a_comparison(make_run: MakeRun, tmp_path: Path) -> None:
    summary = write_report([make_run("phaser")], tmp_path / "page.html")
    assert summary.sentence == "Held-out loss after the last task, lower is better: phaser 0.13."
    assert "minus" not in as_text(summary)


def test_tasks_whose_demonstrations_were_gone_are_named_and_count_nowhere(
    make_run: MakeRun, tmp_path: Path
) -> None:
    folders = [make_run("er"), make_run("phaser", gone=["open"])]
    summary = write_report(folders, tmp_path / "page.html")
    assert summary.unmeasured == ("open",)
    assert not summary.complete
    rows = {row.method: row for row in summary.losses}
    assert rows["er"].loss.mean == pytest.approx(0.11 + 0.05 / 2)
    assert rows["er"].loss.num_tasks == rows["phaser"].loss.num_tasks == 2
    assert rows["phaser"].forgetting == pytest.approx(0.02)
    assert "gone by then: open. No mean counts them." in as_text(summary)
    page = (tmp_path / "page.html").read_text()
    assert "<td>open</td><td>0.11 → 0.21</td><td>0.11 → –</td>" in page
    assert summary_json(summary)["unmeasured_tasks"] == ["open"]


def test_runs_that_measured_no_common_task_are_refused(make_run: MakeRun, tmp_path: Path) -> None:
    folders = [
        make_run("er", gone=["open", "lift"]),
        make_run("phaser", tasks=("carry", "lift", "open"), gone=["carry", "lift"]),
    ]
    with pytest.raises(BadInput, match="no task in common"):
        write_report(folders, tmp_path / "page.html")


def test_a_run_that_measured_nothing_is_broken(make_run: MakeRun) -> None:
    with pytest.raises(BrokenFile, match="neither a rollout nor a held-out loss"):
        read_run(make_run("er", rows=[]))


def test_a_tasks_loss_is_the_mean_over_its_phases() -> None:
    table = pa.Table.from_pylist(loss_rows("er", 0, TASKS, ["lift"]), schema=LOSSES_SCHEMA)
    first, second, third = task_losses(table)
    assert (first.learnt, first.final) == (pytest.approx(0.11), pytest.approx(0.21))
    assert first.increase == pytest.approx(0.1)
    assert (second.final, second.increase) == (None, None)
    assert third.learnt == third.final
