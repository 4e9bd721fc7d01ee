"""Streams: the name decides the numbers, and steps do not share them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.streams import Streams


@given(seed=st.integers(0, 2**40), step=st.integers(0, 2**40))
def test_the_same_name_gives_the_same_numbers(seed, step):
    one, two = (Streams(seed).named("draw", "open").at_step(step).random(4) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_names_seeds_and_steps_give_other_numbers():
    base = Streams(1).named("draw", "open")
    others = [
        base.at_step(1),
        Streams(2).named("draw", "open").at_step(0),
        Streams(1).named("keep", "open").at_step(0),
        Streams(1).named("draw", "close").at_step(0),
        Streams(1).named("drawopen").at_step(0),
    ]
    numbers = base.at_step(0).random(8)
    assert not any(np.intersect1d(numbers, other.random(8)).size for other in others)


def test_neighbouring_steps_do_not_overlap_however_much_is_drawn():
    stream = Streams(3).named("draw")
    first, second = (stream.at_step(step).integers(0, 2**63, 50_000) for step in (0, 1))
    assert np.intersect1d(first, second).size == 0


def test_neighbouring_steps_are_uncorrelated():
    stream = Streams(3).named("draw")
    numbers = np.array([stream.at_step(step).random() for step in range(4000)])
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.06
    assert abs(numbers.mean() - 0.5) < 0.02


@given(
    seed=st.integers(0, 2**40),
    step=st.integers(0, 2**63),
    count=st.integers(0, 40),
    other=st.integers(0, 2**40),
)
def test_the_uniforms_of_a_step_are_those_of_its_generator_whatever_was_drawn_before(
    seed, step, count, other
):
    stream = Streams(seed).named("draw", "open")
    Streams(other).named("draw").uniforms(3, step=other)
    np.testing.assert_array_equal(
        stream.uniforms(count, step=step), stream.at_step(step).random(count)
    )


def test_uniforms_outlive_the_next_ones():
    stream = Streams(1).named("draw")
    first = stream.uniforms(8, step=0)
    kept = first.copy()
    stream.uniforms(8, step=1)
    np.testing.assert_array_equal(first, kept)
