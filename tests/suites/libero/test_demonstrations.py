"""LIBERO's published conventions: no-ops as OpenVLA leaves them out, grippers that are mixed up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.demonstration import ActionLayout, Demo
from phaser.core.errors import BadInput, UnknownName
from phaser.demos.layouts import LAYOUTS
from phaser.demos.turned import TURNS
from phaser.suites.libero.demonstrations import (
    SOURCES,
    check_gripper,
    no_ops,
    source_named,
    without_no_ops,
)

LAYOUT = LAYOUTS["libero"].layout


class Numbered:
    """Images that show their number."""

    def __init__(self, count):
        self.count, self.asked = count, []

    def __len__(self):
        return self.count

    def read(self, frames):
        self.asked += list(frames)
        return np.stack([np.full((1, 1, 3), frame, np.uint8) for frame in frames])


def actions(*steps):
    """From (motion, gripper) pairs."""
    return np.array([[motion, *[0.0] * 5, gripper] for motion, gripper in steps])


def demo(*steps):
    return Demo(
        task="open",
        index=3,
        actions=actions(*steps),
        states=np.arange(len(steps), dtype=float)[:, None],
        layout=LAYOUT,
        cameras={"agentview": Numbered(len(steps))},
    )


def test_an_idle_action_is_left_out_unless_the_gripper_changes():
    found = no_ops(actions((0.5, -1), (0, -1), (0, 1), (0, 1), (0.5, 1)), LAYOUT)
    assert found.tolist() == [False, True, False, True, False]


def test_at_the_beginning_motion_alone_decides():
    found = no_ops(actions((0, -1), (0, 1), (0.5, 1)), LAYOUT)
    assert found.tolist() == [True, True, False]


def test_the_gripper_is_compared_with_the_last_action_that_was_kept():
    # The first idle closing is left out, so the later one still changes something.
    found = no_ops(actions((0, 1), (0.5, -1), (0, -1), (0, 1), (0, 1)), LAYOUT)
    assert found.tolist() == [True, False, True, False, True]


@pytest.mark.parametrize(("motion", "idle"), [(0.99e-4, True), (1e-4, False), (-1e-3, False)])
def test_idle_is_a_norm_below_a_ten_thousandth(motion, idle):
    assert bool(no_ops(actions((1, -1), (motion, -1)), LAYOUT)[1]) is idle


def test_targets_have_no_no_ops():
    targets = ActionLayout(motion=(0,), gripper=(1,), convention="absolute")
    with pytest.raises(BadInput, match="targets"):
        no_ops(np.zeros((2, 2)), targets)


STEPS = st.lists(st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([-1, 1])), min_size=1)


@given(STEPS)
def test_what_is_left_holds_no_no_op_and_loses_no_motion(steps):
    whole = demo(*steps)
    if not whole.actions[:, 0].any():
        with pytest.raises(BadInput, match="nothing but no-ops"):
            without_no_ops(whole)
        return
    left = without_no_ops(whole)
    assert not no_ops(left.actions, LAYOUT).any()
    assert left.actions[:, 0].sum() == whole.actions[:, 0].sum()
    # States say which frame they were.
    assert np.array_equal(whole.actions[left.states[:, 0].astype(int)], left.actions)


def test_images_of_what_is_left_are_read_on_demand():
    whole = demo((0, -1), (0.5, -1), (0, -1), (0.5, 1))
    left = without_no_ops(whole)
    images = left.cameras["agentview"]
    assert whole.cameras["agentview"].asked == []
    assert images.read([1, 0])[:, 0, 0, 0].tolist() == [3, 1]
    with pytest.raises(BadInput, match="expected 0 to 1"):
        images.read([2])


def test_sources_name_layouts_and_turns_that_exist():
    assert all(source.layout in LAYOUTS and source.upright in TURNS for source in SOURCES.values())
    with pytest.raises(UnknownName, match="did you mean hdf5"):
        source_named("hdf")


def test_a_gripper_of_the_other_convention_is_refused():
    simulators, mapped = demo((1, -1), (1, 1)), demo((1, 0), (1, 1))
    check_gripper(simulators, "libero")
    check_gripper(mapped, "libero-one-opens")
    check_gripper(mapped, "robosuite")
    with pytest.raises(BadInput, match="give libero-one-opens"):
        check_gripper(mapped, "libero")
    with pytest.raises(BadInput, match=r"give libero$"):
        check_gripper(simulators, "libero-one-opens")


def test_a_gripper_that_never_opens_fits_both():
    closed = demo((1, 1), (1, 1))
    check_gripper(closed, "libero")
    check_gripper(closed, "libero-one-opens")
