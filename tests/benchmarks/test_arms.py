"""Arms of a study: folders of cells compared stream by stream, whatever they differ in."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "report"))

from written_runs import write_run_folder

from benchmarks.arms import Arm, as_json, difference, rows
from phaser.core.errors import BadInput
from phaser.memory.budget import Budget


@pytest.fixture
def study(tmp_path):
    """Two streams: the peers solve 2 and 4 of ten rollouts of every task, the default 3 more."""
    for seed, solved in ((0, 2), (1, 4)):
        write_run_folder(tmp_path / "peers" / f"s{seed}", "er", seed, final=[solved] * 4)
        write_run_folder(
            tmp_path / "default" / f"s{seed}",
            "phaser",
            seed,
            final=[solved + 3] * 4,
            budget=Budget.per_task(240),
        )
    return tmp_path


def test_arms_of_different_budgets_are_paired_by_stream(study):
    peers, default = (Arm.read(study / name) for name in ("peers", "default"))
    found = difference(default, peers)
    assert found.mean == pytest.approx(0.3)
    assert found.by_seed == pytest.approx({0: 0.3, 1: 0.3})


def test_a_row_has_frames_success_and_the_difference_from_the_first_arm(study):
    peers, default = list(rows([Arm.read(study / name) for name in ("peers", "default")]))[2:]
    assert peers.startswith("| peers | 2 | 21 |")
    assert "| 30.0 [" in peers
    assert default.startswith("| default | 2 | 240 |")
    assert "| +30.0 [" in default
    assert "2 streams |" in default


def test_only_streams_that_were_asked_for_count(study):
    assert [run.seed for run in Arm.read(study / "peers", [1]).runs] == [1]


def test_a_folder_with_two_methods_is_no_arm(study):
    write_run_folder(study / "peers" / "other", "er-even", 2)
    with pytest.raises(BadInput, match="expected one method"):
        Arm.read(study / "peers")


def test_programs_get_the_success_of_every_stream(study):
    peers, default = as_json([Arm.read(study / name) for name in ("peers", "default")])
    assert peers["asr_by_seed"] == pytest.approx({0: 0.2, 1: 0.4})
    assert default["difference_by_seed"] == pytest.approx({0: 0.3, 1: 0.3})
