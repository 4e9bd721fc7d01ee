"""LIBERO's part of the segmentation benchmark: what is counted against which reference."""

import numpy as np
import pytest

from phaser.core.demonstration import Demo
from phaser.core.errors import MissingDependency
from phaser.suites.libero.recording import LAYOUT

pytest.importorskip("ruptures", reason="needs ruptures: pip install --editable '.[bench]'")
from benchmarks import libero_segmentation


def true_demo(index):
    demo = Demo(
        task="made up",
        index=index,
        actions=np.zeros((60, 7)),
        states=np.zeros((60, 0)),
        layout=LAYOUT,
    )
    return libero_segmentation.TrueDemo(
        demo=demo, boundaries={"predicates": (30,), "stages": (10, 30, 50)}
    )


@pytest.fixture
def found(monkeypatch):
    monkeypatch.setattr(libero_segmentation, "_demos", lambda task: (true_demo(0), true_demo(1)))
    finds = {
        "late by seven": lambda example: [37],
        "told the truth": lambda example: list(example.boundaries),
    }
    return libero_segmentation.measure(finds)


def test_each_reference_is_compared_within_each_tolerance(found):
    late = found["rules"]["late by seven"]
    assert (late["predicates"]["5"]["f1"], late["predicates"]["10"]["f1"]) == (0.0, 1.0)
    assert late["stages"]["10"]["f1"] == pytest.approx(2 * 1 / (1 + 3))
    assert found["true_phases"] == {"predicates": 2.0, "stages": 4.0}


def test_a_rule_that_is_told_the_truth_is_told_that_of_the_reference(found):
    told = found["rules"]["told the truth"]
    assert [told[truth]["5"]["f1"] for truth in libero_segmentation.TRUTHS] == [1.0, 1.0]


def test_the_experts_own_stages_are_the_ceiling(found):
    ceiling = found["whole"]["the experts' own stages"]
    assert ceiling["stages"]["5"]["f1"] == 1.0
    assert ceiling["predicates"]["5"]["recall"] == 1.0
    assert ceiling["predicates"]["5"]["f1"] == pytest.approx(0.5)


def test_every_rule_has_a_line_of_the_table(found):
    lines = libero_segmentation.markdown(found)
    assert "| late by seven | 0.000 | 1.000 | 1.000 | 1.00 | 0.000 | 0.500 | 0.50 |" in lines
    assert sum(line.startswith("| ") for line in lines) == 1 + 2 + 2


def test_without_libero_the_rest_of_the_benchmark_still_runs(monkeypatch):
    def missing(task):
        raise MissingDependency("robosuite is not installed; install it")

    monkeypatch.setattr(libero_segmentation, "_demos", missing)
    found = libero_segmentation.measure({})
    assert "robosuite is not installed" in libero_segmentation.markdown(found)[0]
