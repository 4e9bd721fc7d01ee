"""Every number of every setting has a range, and is refused outside of it when it is given."""

import copy
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from phaser.core.errors import BadInput
from phaser.core.ranges import (
    COUNT,
    SHARE,
    Range,
    above,
    at_least,
    between,
    check_ranges,
)
from phaser.experiments.run import Run
from phaser.experiments.tables import TABLES
from phaser.policies.parts.colour import ColourChanges

SENSELESS = (math.nan, math.inf, -math.inf, -1)
BEYOND_64_BITS = 10**30
ON_PURPOSE = {
    ("SignalRules", "closing_sign", -1),
    ("Imagined", "same_scene", -1),
    ("Protocol", "wait_gripper", -1),
}
"""Settings to which such a number means something."""


def settings() -> dict[type[Any], Any]:
    """One value of every settings class that a run, a rule or an adapter of the tables holds."""
    found: dict[type[Any], Any] = {}

    def visit(value: Any) -> None:
        ours = type(value).__module__.startswith("phaser.")
        if ours and dataclasses.is_dataclass(value) and type(value) not in found:
            found[type(value)] = value
            for field in dataclasses.fields(value):
                visit(getattr(value, field.name))

    for start in (Run(), ColourChanges()):
        visit(start)
    for table in TABLES.values():
        for name in table:
            visit(table[name]())
    return found


def numbers() -> Iterator[tuple[Any, str]]:
    for value in settings().values():
        for field in dataclasses.fields(value):
            words = str(field.type).replace("|", " ").split()
            is_number = {"int", "float"} & set(words) or words[0].startswith("Literal[1")
            if field.init and is_number:
                yield value, field.name


def changed(value: Any, name: str, number: object) -> Any:
    """The settings with another value, checked by themselves: in tests the types of arguments are
    checked as well, which would answer before them."""
    other = copy.copy(value)
    object.__setattr__(other, name, number)
    other.__post_init__()
    return other


NUMBERS = list(numbers())
NAMES = [f"{type(value).__name__}.{name}" for value, name in NUMBERS]


def test_the_walk_finds_the_settings_of_runs_rules_policies_and_suites() -> None:
    expected = {"Fit.learning_rate", "Run.seed", "AutoPC.min_score", "MetaWorldRecording.noise"}
    expected |= {"Routed.temperature", "Tiny.width", "Budget.amount", "Lora.rank", "Elastic.decay"}
    assert expected <= set(NAMES)


@pytest.mark.parametrize(("value", "name"), NUMBERS, ids=NAMES)
def test_a_number_without_sense_is_refused_when_it_is_given(value: Any, name: str) -> None:
    for number in SENSELESS:
        if (type(value).__name__, name, number) in ON_PURPOSE:
            assert changed(value, name, number)
            continue
        with pytest.raises(BadInput, match=name) as refusal:
            changed(value, name, number)
        assert "expected" in str(refusal.value)


@pytest.mark.parametrize(("value", "name"), NUMBERS, ids=NAMES)
def test_a_whole_number_beyond_64_bits_is_refused(value: Any, name: str) -> None:
    (kind,) = (field.type for field in dataclasses.fields(value) if field.name == name)
    if "int" in str(kind).replace("|", " ").split():
        with pytest.raises(BadInput, match=name):
            changed(value, name, BEYOND_64_BITS)


@pytest.mark.parametrize(("value", "name"), NUMBERS, ids=NAMES)
def test_words_and_truth_values_are_no_numbers(value: Any, name: str) -> None:
    for word in ("1", True):
        with pytest.raises(BadInput, match=name):
            changed(value, name, word)


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (COUNT, "a whole number of at least 1"),
        (SHARE, "a number from 0 to 1"),
        (above(0), "a number above 0"),
        (above(0, or_none=True), "a number above 0, or none"),
        (between(1, 95, whole=True), "a whole number from 1 to 95"),
        (Range(low=0, high=1, without_high=True), "a number of at least 0 and below 1"),
        (Range(low=0, high=1, without_low=True), "a number above 0 and at most 1"),
    ],
)
def test_a_range_says_itself_in_words(expected: Range, words: str) -> None:
    assert str(expected) == words


def test_the_edges_belong_to_a_range_as_it_says() -> None:
    assert SHARE.holds(0)
    assert SHARE.holds(1)
    assert not SHARE.holds(1.0000001)
    assert not above(0).holds(0)
    assert above(0).holds(5e-324)
    assert not Range(low=0, high=1, without_high=True).holds(1)
    assert at_least(0, whole=True).holds(2**63 - 1)
    assert not at_least(0, whole=True).holds(2**63)
    assert at_least(1, or_none=True).holds(None)
    assert not at_least(1).holds(None)
    assert not COUNT.holds(2.0)


def test_numbers_of_numpy_become_plain_ones() -> None:
    @dataclasses.dataclass(frozen=True)
    class Two:
        steps: Any
        rate: Any

        def __post_init__(self) -> None:
            check_ranges(self, steps=COUNT, rate=SHARE)

    two = Two(np.int64(3), np.float32(0.5))
    assert (type(two.steps), two.steps, type(two.rate), two.rate) == (int, 3, float, 0.5)
