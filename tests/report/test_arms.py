"""Arms of a study: folders of cells compared stream by stream, whatever they differ in."""

import json

import pytest
from written_runs import write_run_folder

from phaser.cli import main
from phaser.core.errors import BadInput
from phaser.core.files import write_json
from phaser.memory.budget import Budget
from phaser.report.arms import (
    Arm,
    as_json,
    difference,
    loss_difference,
    repeated_order,
    rows,
    share,
    training_ratio,
)


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


def test_seeds_that_repeat_one_order_are_said_aloud(study, capsys):
    peers, default = (Arm.read(study / name) for name in ("peers", "default"))
    assert (peers.orders, as_json([peers])[0]["orders"]) == (1, 1)
    assert repeated_order([peers, default]).startswith("The runs of all arms learn the same tasks")
    assert main.execute(["report", "--arms", str(study / "peers")]) == 0
    assert "nothing is known of other orders" in " ".join(capsys.readouterr().out.split())
    # A third stream in another order: nothing is repeated any more.
    reverse = tuple(reversed(peers.runs[0].tasks))
    write_run_folder(study / "peers" / "s2", "er", 2, tasks=reverse, final=[5] * 4)
    peers = Arm.read(study / "peers")
    assert (peers.orders, repeated_order([peers])) == (2, "")
    assert repeated_order([peers, default]).startswith("The runs of default learn")
    assert not repeated_order([Arm.read(study / "default@1-1")])


def test_only_streams_that_were_asked_for_count(study):
    assert [run.seed for run in Arm.read(study / "peers@1-1").runs] == [1]


def test_a_folder_with_two_methods_is_no_arm(study):
    write_run_folder(study / "peers" / "other", "er-even", 2)
    with pytest.raises(BadInput, match="expected one method"):
        Arm.read(study / "peers")


def test_programs_get_the_success_of_every_stream(study):
    peers, default = as_json([Arm.read(study / name) for name in ("peers", "default")])
    assert peers["asr_by_seed"] == pytest.approx({0: 0.2, 1: 0.4})
    assert default["difference_by_seed"] == pytest.approx({0: 0.3, 1: 0.3})


def test_a_share_is_the_ratio_of_means_with_an_interval_over_streams(study):
    peers, default = (Arm.read(study / name) for name in ("peers", "default"))
    found = share(peers, default)
    assert found.mean == pytest.approx(0.3 / 0.6)
    # By hand: values around the ratio are 0.5 + (0.2 - 0.25) / 0.6 and 0.5 + (0.4 - 0.35) / 0.6.
    half = 12.7062 * (0.05 / 0.6)
    assert found.interval.upper - found.mean == pytest.approx(half, rel=1e-4)


def test_losses_are_compared_stream_by_stream(study):
    peers, default = (Arm.read(study / name) for name in ("peers", "default"))
    gap = default.final_loss - peers.final_loss
    assert loss_difference(default, peers).mean == pytest.approx(gap)


def test_training_time_is_a_ratio_and_transitions_are_a_share_of_it(study, monkeypatch, capsys):
    for arm, times in (("peers", (10.0, 20.0)), ("default", (11.0, 24.0))):
        for seed, seconds in enumerate(times):
            timing = {"learn_cpu_s": seconds, "stream_cpu_s": seconds * 1.005}
            write_json(study / arm / f"s{seed}" / "timing.json", timing)
    peers, default = (Arm.read(study / name) for name in ("peers", "default"))
    found = training_ratio(default, peers)
    assert found.mean == pytest.approx(35 / 30)
    assert found.interval is not None
    assert default.transition_share == pytest.approx(0.005)
    monkeypatch.chdir(study)
    document = study / "page.md"
    document.write_text(
        "1.17 <!-- phaser: default over peers training-s -->, "
        f"{found.interval.upper:.2f} <!-- phaser: default over peers training-s-upper -->, "
        "0.5 <!-- phaser: default transition --> %\n"
    )
    assert main.execute(["report", "--check", str(document)]) == 0, capsys.readouterr().out


def test_arms_without_a_common_stream_are_refused(study):
    peers, default = Arm.read(study / "peers@0-0"), Arm.read(study / "default@1-1")
    with pytest.raises(BadInput, match="no common stream"):
        share(peers, default)


def test_the_verb_prints_a_table_of_80_columns_markdown_or_json(study, capsys):
    folders = [str(study / name) for name in ("peers", "default")]
    assert main.execute(["report", "--arms", *folders]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "minus peers" in lines[0]
    assert "+30.0" in lines[2]
    assert main.execute(["report", "--arms", "--markdown", *folders]) == 0
    assert capsys.readouterr().out.startswith("| arm |")
    assert main.execute(["report", "--arms", "--json", *folders]) == 0
    _, default = json.loads(capsys.readouterr().out)["arms"]
    assert default["difference"] == pytest.approx(0.3)


def test_a_document_may_quote_arms(study, capsys, monkeypatch):
    monkeypatch.chdir(study)
    document = study / "page.md"
    document.write_text(
        "60.0 <!-- phaser: default asr --> of ten, +30.0 <!-- phaser: default minus peers asr -->, "
        "200 <!-- phaser: default over peers asr --> %, 240 <!-- phaser: default frames -->\n"
    )
    assert main.execute(["report", "--check", str(document)]) == 0
    assert "4 numbers recomputed, 0 of them differ" in capsys.readouterr().out
    document.write_text("31 <!-- phaser: default minus peers asr -->\n")
    assert main.execute(["report", "--check", str(document)]) == 1
    document.write_text("31 <!-- phaser: default plus peers asr -->\n")
    assert main.execute(["report", "--check", str(document)]) == 2
    assert "expected 'minus' or 'over'" in capsys.readouterr().err
