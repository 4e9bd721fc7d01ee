"""Priorities and probabilities: bounded, never NaN, sensible at the limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from phaser.core.errors import BadInput
from phaser.core.memory import Prototype
from phaser.routing.boltzmann import boltzmann, entropy_bits
from phaser.routing.priority import Phases, action_divergence, context_overlap, cosines, priority

numbers = st.floats(-100, 100).map(lambda value: 0.0 if abs(value) < 1e-3 else value)
scores = arrays(np.float64, st.integers(1, 12), elements=st.floats(-1.5, 1.5))


def prototype(language=(1.0, 0.0), vision=(1.0, 0.0), action=(1.0, 0.0, 0.0, 1.0)):
    return Prototype(
        language=np.array(language),
        vision=np.array(vision),
        action=np.array(action),
        motion=(0, 1, 2),
    )


@given(left=arrays(np.float64, (3, 4), elements=numbers), right=arrays(np.float64, (2, 4)))
def test_cosines_stay_within_one_or_the_vector_has_no_direction(left, right):
    right = np.nan_to_num(np.clip(right, -100, 100))
    found = cosines(left, right)
    assert np.isfinite(found).all()
    assert (np.abs(found) <= 1).all()
    assert (found[~left.any(axis=1)] == 0).all()


def test_opposite_motion_diverges_fully_and_the_same_not_at_all():
    forth, back = prototype(action=(1.0, 0, 0, 0)), prototype(action=(-2.0, 0, 0, 0))
    np.testing.assert_allclose(
        action_divergence(Phases.of([forth, back]), Phases.of([forth])), [[0], [1]]
    )


def test_without_the_gripper_a_reversed_motion_is_seen():
    forth, back = prototype(action=(0.1, 0, 0, 1.0)), prototype(action=(-0.1, 0, 0, 1.0))
    assert action_divergence(Phases.of([forth]), Phases.of([back]))[0, 0] < 0.02
    assert action_divergence(Phases.of([forth]), Phases.of([back]), motion_only=True)[
        0, 0
    ] == pytest.approx(1)


def test_a_motionless_phase_diverges_by_half():
    still, moving = Phases.of([prototype(action=(0.0,) * 4)]), Phases.of([prototype()])
    assert action_divergence(still, moving)[0, 0] == 0.5


def test_centring_tells_nearly_parallel_scenes_apart_and_is_never_negative():
    past = Phases.of([prototype(vision=(10.0, 1.0)), prototype(vision=(10.0, -1.0))])
    current = Phases.of([prototype(vision=(10.0, 1.1))])
    plain = context_overlap(past, current, language_share=0.0)
    centred = context_overlap(past, current, language_share=0.0, centre_vision=True)
    assert plain.min() > 0.97
    assert centred[0, 0] > 0.9
    assert centred[1, 0] == 0


@given(
    context=arrays(np.float64, (3, 2), elements=st.floats(0, 1)),
    low=arrays(np.float64, (3, 2), elements=st.floats(0, 1)),
    more=arrays(np.float64, (3, 2), elements=st.floats(0, 1)),
)
def test_more_divergence_never_lowers_the_priority_in_a_shared_scene(context, low, more):
    high = np.minimum(low + more, 1)
    assert (priority(context, high) >= priority(context, low) - 1e-12).all()


@given(priorities=scores, temperature=st.floats(1e-3, 1e3))
def test_probabilities_sum_to_one_and_keep_the_order(priorities, temperature):
    found = boltzmann(priorities, temperature)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    order = np.argsort(priorities)
    assert (np.diff(found[order]) >= -1e-12).all()


@given(priorities=scores, shift=st.floats(-1e3, 1e3))
def test_only_differences_of_priorities_matter(priorities, shift):
    np.testing.assert_allclose(
        boltzmann(priorities, 0.25), boltzmann(priorities + shift, 0.25), atol=1e-9
    )


def test_the_limits_of_the_temperature():
    priorities = np.array([0.1, 0.7, 0.7])
    np.testing.assert_allclose(boltzmann(priorities, 0.0), [0, 0.5, 0.5])
    np.testing.assert_allclose(boltzmann(priorities, 1e-320), [0, 0.5, 0.5])
    np.testing.assert_allclose(boltzmann(priorities, np.inf), [1 / 3] * 3)
    np.testing.assert_allclose(boltzmann(np.array([1e300, -1e300]), 0.25), [1, 0])
    assert len(boltzmann(np.zeros(0), 0.25)) == 0


@pytest.mark.parametrize("temperature", [-0.1, float("nan")])
def test_a_senseless_temperature_is_refused(temperature):
    with pytest.raises(BadInput, match="temperature"):
        boltzmann(np.zeros(2), temperature)


def test_priorities_without_a_value_are_refused():
    with pytest.raises(BadInput, match="NaN"):
        boltzmann(np.array([0.0, np.nan]), 0.25)


@given(priorities=scores, temperature=st.floats(0, 10))
def test_entropy_lies_between_none_and_uniform(priorities, temperature):
    found = entropy_bits(boltzmann(priorities, temperature))
    assert 0 <= found <= np.log2(len(priorities)) + 1e-9
