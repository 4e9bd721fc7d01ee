"""How far failed rollouts came: counted per method, task and milestone."""

import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phaser.core.errors import BadInput, BrokenFile
from phaser.evaluation.matrix import EPISODES_SCHEMA, SuccessMatrix
from phaser.report.milestones import Failure, final_failures, headings, method_rows, milestone_rows
from phaser.report.page import write_report
from phaser.report.runs import read_run
from phaser.report.splits import progress

NAMES = ("grasped bowl", "lifted bowl", "on bowl plate")


def row(*, success=False, after=1, task="bowl", reached=(True, False, False), **changes):
    told = json.dumps(list(zip(NAMES, reached, strict=True)))
    return {
        "run": "r",
        "method": "er",
        "seed": 0,
        "after_task": "ab"[after],
        "after_index": after,
        "task": task,
        "task_index": 0,
        "env_seed": 0,
        "success": success,
        "steps": 10,
        "retried": False,
        "milestones": told,
    } | changes


def table(*rows):
    return pa.Table.from_pylist(list(rows), schema=EPISODES_SCHEMA)


def failed(*reached, task="bowl"):
    return Failure(task=task, milestones=tuple(zip(NAMES, reached, strict=True)))


def test_only_failures_of_the_last_stage_count():
    found = final_failures(
        table(row(), row(success=True), row(after=0), row(milestones=""), row(milestones="[]"))
    )
    assert found == (failed(True, False, False),)


def test_episodes_from_before_milestones_have_none():
    old = table(row()).drop_columns(["milestones", "retried"])
    assert final_failures(old) == ()


def test_shares_are_counted_per_task_milestone_and_method():
    runs = {
        "er": [
            SimpleNamespace(failures=(failed(True, False, False), failed(False, False, False))),
            SimpleNamespace(failures=(failed(True, True, False),)),
        ],
        "phaser": [SimpleNamespace(failures=())],
    }
    assert method_rows(runs) == [("er", "3", "33 %"), ("phaser", "0", "–")]
    assert headings(runs) == ("task", "milestone", "er", "phaser")
    assert milestone_rows(runs) == [
        ("bowl", "grasped bowl", "2/3", "–"),
        ("bowl", "lifted bowl", "1/3", "–"),
        ("bowl", "on bowl plate", "0/3", "–"),
    ]


def test_progress_counts_solved_rollouts_as_whole_and_failed_ones_as_far_as_they_came():
    matrix = SuccessMatrix.from_counts(
        ("bowl", "stove"),
        {("bowl", "bowl"): (1, 2), ("stove", "bowl"): (1, 2), ("stove", "stove"): (0, 2)},
    )
    failures = (
        failed(True, False, False),
        failed(True, True, False, task="stove"),
        failed(False, False, False, task="stove"),
    )
    run = SimpleNamespace(tasks=("bowl", "stove"), matrix=matrix, failures=failures)
    # bowl: (1 + 1/3) / 2; stove: (2/3 + 0) / 2
    assert progress(run) == pytest.approx(50)
    assert np.isnan(progress(SimpleNamespace(tasks=run.tasks, matrix=matrix, failures=())))


def test_without_milestones_there_is_no_table():
    assert method_rows({"er": [SimpleNamespace(failures=())]}) == []


@pytest.mark.parametrize("told", ["{", '["grasped"]', '[["grasped", 1]]', "3"])
def test_milestones_that_are_none_are_refused(told):
    with pytest.raises(BadInput, match="milestone"):
        final_failures(table(row(milestones=told)))


def test_the_page_tells_how_far_failures_came_where_it_is_known(write_run, tmp_path):
    folder = write_run("er", 0)
    write_report([folder], tmp_path / "before.html")
    assert "How far failed" not in (tmp_path / "before.html").read_text()
    episodes = pq.read_table(folder / "episodes.parquet").to_pylist()
    told = [one | {"milestones": json.dumps([["grasped <b>", True]])} for one in episodes]
    pq.write_table(pa.Table.from_pylist(told, schema=EPISODES_SCHEMA), folder / "episodes.parquet")
    write_report([folder], tmp_path / "after.html")
    page = (tmp_path / "after.html").read_text()
    assert "How far failed rollouts came" in page
    assert "grasped &lt;b&gt;" in page


def test_an_error_names_the_file(write_run):
    folder = write_run("er", 0)
    episodes = pq.read_table(folder / "episodes.parquet").to_pylist()
    broken = [one | {"milestones": "{"} for one in episodes]
    pq.write_table(
        pa.Table.from_pylist(broken, schema=EPISODES_SCHEMA), folder / "episodes.parquet"
    )
    with pytest.raises(BrokenFile, match=r"episodes\.parquet: milestones"):
        read_run(folder)
