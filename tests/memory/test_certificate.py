"""The budget certificate and the refusal of unequal comparisons."""

import json
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import prepared_task

from phaser.core.errors import BudgetMismatch
from phaser.core.streams import Streams
from phaser.memory.certificate import certificate, check_equal, check_within, phase_rows
from phaser.memory.even import Even
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.reservoir import Reservoir

TASKS = [prepared_task("open"), prepared_task("close", seed=1)]


def rows_of(rule, frames, tasks=TASKS):
    return [
        row
        for task in tasks
        for row in phase_rows(task, rule.select(task, frames, Streams(0).named("k")), rule)
    ]


def column(rows, name):
    return [row[name] for row in rows]


def test_it_counts_frames_per_phase_per_task_and_in_total():
    found = certificate(rows_of(PhaseBuckets(), 18))
    assert found["frames_per_task"] == {"open": 18, "close": 18}
    assert found["total_frames"] == 36
    assert column(found["frames_per_phase"], "frames") == [6] * 6
    assert column(found["frames_per_phase"], "task") == ["open"] * 3 + ["close"] * 3
    assert "bytes_per_task" not in found
    assert json.loads(json.dumps(found)) == found


def test_bytes_are_summed_where_every_phase_that_holds_frames_knows_them():
    rows = rows_of(PhaseBuckets(zero_phase=1), 18)
    for row in rows:
        if row["frames"]:
            row["bytes"] = 100 * row["frames"] + row["index"]
    found = certificate(rows)
    assert found["bytes_per_task"] == {"open": 1802, "close": 1802}
    assert found["total_bytes"] == 3604
    del rows[0]["bytes"]
    assert not {"bytes_per_task", "total_bytes"} & set(certificate(rows))


def test_an_emptied_phase_is_shown_with_its_candidates_and_the_share_it_gave_away():
    rows = rows_of(PhaseBuckets(zero_phase=0), 18, TASKS[:1])
    # Phase 0 has 20 frames: 7 after a stride of 3, in 4 demonstrations. Phase 1 has 8 in all.
    assert column(rows, "candidates") == [28, 8, 40]
    assert column(rows, "frames") == [0, 8, 10]
    assert column(rows, "share") == [6, 6, 6]
    assert column(rows, "shortfall") == [6, 0, 0]
    assert column(rows, "redistributed") == [0, 2, 4]


def test_a_phase_with_too_few_candidates_says_what_it_could_not_fill_and_who_received_it():
    rows = rows_of(PhaseBuckets(), 37, TASKS[:1])
    # 37 = 3 × 12 + 1: phase 0 takes the odd frame; phase 1 offers 8, its 4 go to the others alike.
    assert column(rows, "share") == [12, 12, 12]
    assert column(rows, "frames") == [15, 8, 14]
    assert column(rows, "shortfall") == [0, 4, 0]
    assert column(rows, "redistributed") == [3, 0, 2]
    assert "frames = share - shortfall + redistributed" in certificate(rows)["rule"]


def test_the_papers_zero_budget_control_is_certified():
    # 278 × 4 = 1112 = 372 + 370 + 370; appendix F.
    task = prepared_task("t", num_demos=10, lengths=(120, 120, 120, 120))
    rows = rows_of(PhaseBuckets(zero_phase=0), 278 * 4, [task])
    assert column(rows, "candidates") == [400] * 4
    assert column(rows, "frames") == [0, 372, 370, 370]
    assert column(rows, "share") == [278] * 4
    assert column(rows, "shortfall") == [278, 0, 0, 0]
    assert column(rows, "redistributed") == [0, 94, 92, 92]
    assert certificate(rows)["total_frames"] == 1112


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 30), min_size=2, max_size=5),
    stride=st.integers(1, 4),
    data=st.data(),
)
def test_shares_shortfalls_and_what_was_received_account_for_every_frame(lengths, stride, data):
    task = prepared_task("t", num_demos=2, lengths=tuple(lengths))
    zero = data.draw(st.none() | st.integers(0, len(lengths) - 1))
    room = [2 * len(range(0, length, stride)) for length in lengths]
    available = sum(room) - (0 if zero is None else room[zero])
    budget = data.draw(st.integers(len(lengths) - (zero is not None), available))
    rule = PhaseBuckets(stride=stride, zero_phase=zero, within="random")
    rows = rows_of(rule, budget, [task])
    assert column(rows, "candidates") == room
    assert sum(column(rows, "frames")) == budget
    assert set(column(rows, "share")) == {budget // len(lengths)}
    for row in rows:
        assert row["frames"] == row["share"] - row["shortfall"] + row["redistributed"]
        if row["shortfall"] and row["index"] != zero:
            assert row["frames"] == row["candidates"]


@pytest.mark.parametrize("rule", [Reservoir(), Even()])
def test_a_rule_without_phases_has_no_shares_and_every_frame_as_candidate(rule):
    rows = rows_of(rule, 18, TASKS[:1])
    assert column(rows, "candidates") == [80, 16, 120]
    assert not any({"share", "shortfall", "redistributed"} & set(row) for row in rows)
    assert "rule" not in certificate(rows)


def test_equal_budgets_pass_however_they_lie_in_the_phases():
    check_equal(
        {
            "er-even": certificate(rows_of(Even(), 18)),
            "phaser": certificate(rows_of(PhaseBuckets(), 18)),
        }
    )
    check_equal({})


def test_unequal_budgets_are_refused_with_both_figures():
    certificates = {
        "er-even": certificate(rows_of(Even(), 20)),
        "phaser": certificate(rows_of(PhaseBuckets(), 18)),
    }
    with pytest.raises(BudgetMismatch, match="er-even holds 20 frames, phaser holds 18"):
        check_equal(certificates)
    check_equal(certificates, tolerance=0.1)


def holding(**frames):
    return {"frames_per_task": frames}


def test_one_per_cent_is_allowed_and_a_frame_more_is_not_whatever_the_order():
    for names in permutations("abc"):
        frames = dict(zip(names, (1000, 990, 995), strict=True))
        check_equal({name: holding(t=count) for name, count in frames.items()})
        frames = dict(zip(names, (1000, 989, 995), strict=True))
        with pytest.raises(BudgetMismatch, match=r"holds 1000 frames, . holds 989"):
            check_equal({name: holding(t=count) for name, count in frames.items()})


def test_a_task_that_one_method_lacks_is_a_difference_and_so_is_an_empty_memory():
    for lacking in (holding(a=6), holding()):
        with pytest.raises(BudgetMismatch, match=r"task '.': er holds 6 frames, phaser holds 0"):
            check_equal({"er": holding(a=6, b=6), "phaser": lacking})


def test_memories_within_one_budget_in_bytes_may_be_compared_whatever_their_frames():
    held = {
        "phaser": {"bytes_per_task": {"a": 9_990, "b": 10_000}},
        "er": {"bytes_per_task": {"a": 9_000, "b": 1}},
    }
    check_within(held, 10_000, "ab")


@pytest.mark.parametrize(
    "wrong", [{"a": 9_000, "b": 10_001}, {"a": 9_000, "b": 0}, {"a": 9_000}, {}]
)
def test_a_task_with_more_bytes_than_were_given_is_refused_and_so_is_one_without(wrong):
    held = {"phaser": {"bytes_per_task": {"a": 1, "b": 1}}, "er": {"bytes_per_task": wrong}}
    with pytest.raises(BudgetMismatch, match=r"er holds \d+ bytes, given 10000"):
        check_within(held, 10_000, "ab")


def test_a_memory_that_counts_no_bytes_is_within_no_budget_of_bytes():
    with pytest.raises(BudgetMismatch, match="er holds 0 bytes"):
        check_within({"er": holding(a=6)}, 10_000, "a")
