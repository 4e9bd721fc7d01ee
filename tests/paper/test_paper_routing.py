"""Equations 1 and 2 of the paper, by hand."""

import numpy as np
import pytest

from phaser.core.memory import Prototype
from phaser.routing.boltzmann import boltzmann, entropy_bits
from phaser.routing.priority import Phases, action_divergence, context_overlap, priority


def prototype(language, vision, action):
    return Prototype(
        language=np.array(language),
        vision=np.array(vision),
        action=np.array(action),
        motion=(0, 1),
    )


CURRENT = Phases.of([prototype((1.0, 0.0), (1.0, 0.0), (1.0, 0.0))])
PAST = Phases.of(
    [
        prototype((0.6, 0.8), (0.8, 0.6), (-1.0, 0.0)),
        prototype((0.6, 0.8), (0.8, 0.6), (2.0, 0.0)),
        prototype((0.0, 1.0), (1.0, 0.0), (0.0, 3.0)),
    ]
)


def test_context_overlap_by_hand():
    # S = 0.5 * 0.6 + 0.5 * 0.8 = 0.7 twice; 0.5 * 0 + 0.5 * 1 = 0.5.
    np.testing.assert_allclose(context_overlap(PAST, CURRENT)[:, 0], [0.7, 0.7, 0.5])
    # α = 1 leaves language alone, α = 0 vision alone.
    only = [context_overlap(PAST, CURRENT, language_share=share)[:, 0] for share in (1.0, 0.0)]
    np.testing.assert_allclose(only, [[0.6, 0.6, 0.0], [0.8, 0.8, 1.0]])


def test_action_divergence_by_hand():
    # D = (1 - cos) / 2 with cosines -1, 1 and 0.
    np.testing.assert_allclose(action_divergence(PAST, CURRENT)[:, 0], [1.0, 0.0, 0.5])


def test_priority_by_hand():
    # U = S (D - 0.5 (1 - D)):
    #   0.7 * (1.0 - 0.5 * 0.0) =  0.7    same scene, opposite motion: highest risk
    #   0.7 * (0.0 - 0.5 * 1.0) = -0.35   same scene, same motion: redundant
    #   0.5 * (0.5 - 0.5 * 0.5) =  0.125
    found = priority(context_overlap(PAST, CURRENT), action_divergence(PAST, CURRENT))
    np.testing.assert_allclose(found[:, 0], [0.7, -0.35, 0.125])


def test_priority_vanishes_at_a_divergence_of_one_third():
    # D - γ (1 - D) = 1/3 - 1/2 * 2/3 = 0 for γ = 0.5.
    found = priority(np.ones((1, 1)), np.full((1, 1), 1 / 3))
    np.testing.assert_allclose(found, 0, atol=1e-15)


def test_boltzmann_by_hand():
    # U / τ = (0.25 ln 4) / 0.25 = ln 4, ln 2, ln 2: weights 4, 2, 2 of 8.
    priorities = 0.25 * np.log([4.0, 2.0, 2.0])
    np.testing.assert_allclose(boltzmann(priorities, 0.25), [0.5, 0.25, 0.25])
    # At τ = 0.5 the weights are 2, √2, √2.
    expected = np.array([2, np.sqrt(2), np.sqrt(2)]) / (2 + 2 * np.sqrt(2))
    np.testing.assert_allclose(boltzmann(priorities, 0.5), expected)


def test_entropy_by_hand():
    # H(1/2, 1/4, 1/4) = 1/2 * 1 + 1/4 * 2 + 1/4 * 2 = 1.5 bits; uniform over 8 has log2 8 = 3.
    assert entropy_bits(np.array([0.5, 0.25, 0.25])) == pytest.approx(1.5)
    assert entropy_bits(np.full(8, 1 / 8)) == pytest.approx(3)
    assert entropy_bits(np.array([1.0, 0.0])) == 0
