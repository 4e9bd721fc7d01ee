"""Actions and states in a network's units and back."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from robot_samples import CONTRACT, statistics

from phaser.core.contract import Statistics
from phaser.policies.parts.ranges import Ranges
from phaser.policies.parts.scaling import Scaling

UNEVEN = Statistics(
    mean=(0.0,) * 4,
    std=(1.0,) * 4,
    min=(-2.0, 0.0, 0.5, 0.0),
    max=(2.0, 10.0, 0.5, 1.0),
    q01=(-1.0, 1.0, 0.5, 0.0),
    q99=(1.0, 9.0, 0.5, 1.0),
)


def ranges(**settings):
    return Ranges(Scaling(**settings), CONTRACT, actions=UNEVEN, states=statistics(5))


def test_percentiles_become_one_the_rest_is_clipped_and_the_gripper_stays():
    actions = torch.tensor([[[-1.0, 9.0, 0.5, 0.3], [3.0, 5.0, 0.5, 1.0]]])
    expected = torch.tensor([[[-1.0, 1.0, 0.0, 0.3], [1.0, 0.0, 0.0, 1.0]]])
    torch.testing.assert_close(ranges(rule="q99").actions_in(actions), expected)


def test_smallest_and_largest_become_one_and_nothing_is_clipped():
    actions = torch.tensor([[[-2.0, 10.0, 0.5, 0.3], [4.0, 5.0, 0.5, 1.0]]])
    expected = torch.tensor([[[-1.0, 1.0, 0.0, 0.3], [2.0, 0.0, 0.0, 1.0]]])
    torch.testing.assert_close(ranges(rule="min-max").actions_in(actions), expected)


def test_fixed_leaves_actions_and_centres_states_by_the_contract():
    contract = replace(CONTRACT, state_centre=(1.0,) * 5, state_scale=(0.5,) * 5)
    plain = Ranges(Scaling(rule="fixed"), contract, actions=None, states=None)
    actions = torch.rand(1, 2, 4) * 9
    assert torch.equal(plain.actions_in(actions), actions)
    assert torch.equal(plain.actions_out(actions), actions)
    states = torch.tensor([[1.0, 1.5, 0.0, 2.0, 1.0]])
    torch.testing.assert_close(plain.states_in(states), torch.tensor([[0.0, 1.0, -2.0, 2.0, 0.0]]))


@pytest.mark.parametrize("rule", ["q99", "min-max", "fixed"])
@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4), st.booleans())
def test_there_and_back_is_where_it_began(rule, values, opens):
    both = ranges(rule=rule, gripper="one-opens")
    actions = torch.tensor([[values]])
    actions[..., 1] = actions[..., 1] * 4 + 5
    actions[..., 2] = 0.5
    actions[..., 3] = -1.0 if opens else 1.0
    for decided in (False, True):
        back = both.actions_out(both.actions_in(actions), decided=decided)
        torch.testing.assert_close(back, actions, rtol=1e-4, atol=1e-4)


def test_an_opening_gripper_is_one_for_the_network_and_minus_one_for_the_suite():
    both = ranges(rule="q99", gripper="one-opens")
    commands = torch.tensor([[[0.0, 5.0, 0.5, -1.0], [0.0, 5.0, 0.5, 1.0]]])
    assert both.actions_in(commands)[0, :, 3].tolist() == [1.0, 0.0]
    said = torch.tensor([[[0.0, 0.0, 0.0, 0.7], [0.0, 0.0, 0.0, 0.4]]])
    assert both.actions_out(said, decided=True)[0, :, 3].tolist() == [-1.0, 1.0]
    said.requires_grad_()
    both.actions_out(said).sum().backward()
    assert said.grad[0, :, 3].tolist() == [-2.0, -2.0]


def test_states_are_clipped_where_percentiles_rule():
    states = torch.tensor([[-0.8, 0.9, 5.0, -5.0, 0.05]])
    expected = torch.tensor([[-1.0, 1.0, 1.0, -1.0, 0.0]])
    torch.testing.assert_close(ranges(rule="q99").states_in(states), expected, atol=1e-6, rtol=0)
