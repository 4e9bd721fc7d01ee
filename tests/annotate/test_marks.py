"""Edits of one demonstration's phases keep them phases, whatever a person does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.annotate.marks import Marks, marks_from_json, marks_to_json
from phaser.core.errors import BadInput, BrokenFile

FRAMES = 30
STEPS = st.integers(-2, FRAMES + 2)
NAMES = st.sampled_from(["reach", "grasp", "lift", "", "  ", "x" * 61, "a\nb", "unnamed"])
EDITS = st.one_of(
    st.tuples(st.just("with_boundary"), STEPS),
    st.tuples(st.just("without_boundary"), STEPS),
    st.tuples(st.just("moved"), STEPS, STEPS),
    st.tuples(st.just("nudged"), STEPS, st.integers(-2, 2)),
    st.tuples(st.just("snapped"), STEPS, st.lists(STEPS, max_size=4)),
    st.tuples(st.just("renamed"), st.integers(-1, 4), NAMES),
    st.tuples(st.just("verified")),
    st.tuples(st.just("reopened")),
)


@given(st.lists(EDITS, max_size=30))
def test_after_any_edits_the_phases_tile_the_demonstration_or_the_edit_was_refused(edits):
    marks = Marks(num_frames=FRAMES)
    for name, *arguments in edits:
        try:
            marks = getattr(marks, name)(*arguments)
        except BadInput:
            continue
        cut = marks.segmentation()
        assert sum(len(phase) for phase in cut.phases) == FRAMES
        assert marks_from_json(marks_to_json(marks), "here") == marks


WHOLE = Marks(num_frames=FRAMES).with_boundary(10, name="grasp").with_boundary(20, name="lift")


def test_a_boundary_that_is_set_begins_a_phase_of_a_person():
    assert WHOLE.boundaries == (10, 20)
    assert WHOLE.names == ("unnamed", "grasp", "lift")
    assert (WHOLE.sources, WHOLE.state) == (("human", "human"), "candidate")
    assert WHOLE.with_boundary(5).names == ("unnamed", "unnamed_2", "grasp", "lift")


def test_a_boundary_that_is_deleted_joins_its_phase_to_the_one_before():
    assert WHOLE.without_boundary(20).names == ("unnamed", "grasp")
    twice = WHOLE.renamed(0, "lift")
    assert twice.names == ("lift", "grasp", "lift")
    assert twice.without_boundary(10).names == ("lift",)
    assert twice.without_boundary(10).boundaries == ()


def test_a_boundary_moves_between_its_neighbours_only():
    assert WHOLE.moved(10, 19).boundaries == (19, 20)
    assert WHOLE.nudged(20, -1).boundaries == (10, 19)
    for step, to in ((10, 20), (10, 0), (20, 30), (20, 10)):
        with pytest.raises(BadInput, match="without frames"):
            WHOLE.moved(step, to)


def test_snapping_takes_the_nearest_candidate_between_the_neighbours():
    assert WHOLE.snapped(10, [2, 13, 22]).boundaries == (13, 20)
    with pytest.raises(BadInput, match="no candidate"):
        WHOLE.snapped(10, [10, 20, 25])


def test_neighbours_of_one_name_are_one_phase_so_the_name_is_refused():
    with pytest.raises(BadInput, match="delete the boundary"):
        WHOLE.renamed(1, "lift")
    assert WHOLE.renamed(0, "lift").names == ("lift", "grasp", "lift")


def test_only_named_phases_are_verified():
    with pytest.raises(BadInput, match="name every phase"):
        WHOLE.verified()
    done = WHOLE.renamed(0, "reach").verified()
    assert (done.state, done.reopened().state) == ("verified", "candidate")


@pytest.mark.parametrize(
    "change",
    [
        {"names": ["a", "a", "b"]},
        {"boundaries": [20, 10]},
        {"boundaries": ["10", 20]},
        {"sources": ["guess", "human"]},
        {"state": "done"},
        {"more": 1},
    ],
)
def test_marks_of_another_shape_are_refused(change):
    with pytest.raises(BrokenFile, match="line 7"):
        marks_from_json(marks_to_json(WHOLE) | change, "line 7")
