"""The budget certificate and the refusal of unequal comparisons."""

import json

import pytest
from synthetic import prepared_task

from phaser.core.errors import BudgetMismatch
from phaser.core.memory import Memory
from phaser.core.streams import Streams
from phaser.memory.certificate import certificate, check_equal
from phaser.memory.even import Even
from phaser.memory.phase_buckets import PhaseBuckets

TASKS = [prepared_task("open"), prepared_task("close", seed=1)]


def memory_of(rule):
    memory = Memory()
    for task in TASKS:
        memory = memory.with_buckets(rule.select(task, Streams(0).named("keep", task.task.name)))
    return memory


def test_it_counts_frames_per_phase_per_task_and_in_total():
    found = certificate(memory_of(PhaseBuckets(frames_per_task=18)))
    assert found["frames_per_task"] == {"open": 18, "close": 18}
    assert found["total_frames"] == 36
    assert [one["frames"] for one in found["frames_per_phase"]] == [6] * 6
    assert [one["task"] for one in found["frames_per_phase"]] == ["open"] * 3 + ["close"] * 3
    json.dumps(found)


def test_an_emptied_phase_is_shown_with_its_candidates():
    memory = memory_of(PhaseBuckets(frames_per_task=18, zero_phase=0))
    first = certificate(memory, TASKS, stride=3)["frames_per_phase"][0]
    # Phase 0 has 20 frames: 7 after a stride of 3, in 4 demonstrations.
    assert (first["index"], first["frames"], first["candidates"]) == (0, 0, 28)


def test_equal_budgets_pass_and_memoryless_methods_are_left_out():
    check_equal(
        {
            "sequential": certificate(Memory()),
            "er-even": certificate(memory_of(Even(frames_per_task=18))),
            "phaser": certificate(memory_of(PhaseBuckets(frames_per_task=18))),
        }
    )


def test_unequal_budgets_are_refused_with_both_figures():
    certificates = {
        "er-even": certificate(memory_of(Even(frames_per_task=20))),
        "phaser": certificate(memory_of(PhaseBuckets(frames_per_task=18))),
    }
    with pytest.raises(BudgetMismatch, match="er-even holds 20 frames, phaser holds 18"):
        check_equal(certificates)
    check_equal(certificates, tolerance=0.1)
