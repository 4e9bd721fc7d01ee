"""Auto-PC: the same phases for all demonstrations, at each one's own events."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from synthetic import LAYOUT, scripted_demo

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.phases.autopc import PAPER_SEGMENTER, AutoPC
from phaser.phases.representative import representative
from phaser.phases.signals import PAPER_RULES
from phaser.phases.transfer import by_ratio


def test_boundaries_fall_on_the_events_of_each_demonstration():
    demos = [
        scripted_demo((12, 6, 14), index=0),
        scripted_demo((12, 6, 14), index=1),
        scripted_demo((15, 5, 16), index=2),
    ]
    found = AutoPC().segment(demos)
    assert [one.boundaries for one in found] == [(12, 18), (12, 18), (15, 20)]
    assert {one.labels for one in found} == {("approach", "grasp", "transport")}


def test_ratio_boundaries_ignore_the_events_of_the_others():
    demos = [
        scripted_demo((12, 6, 14), index=0),
        scripted_demo((12, 6, 14), index=1),
        scripted_demo((20, 6, 38), index=2),
    ]
    found = AutoPC(boundaries="ratio").segment(demos)
    assert found[2].boundaries == (24, 36)  # 12/32 and 18/32 of 64 frames


def test_without_an_event_there_is_one_phase():
    still = Demo(
        task="t", index=0, actions=np.ones((20, 4)), states=np.zeros((20, 1)), layout=LAYOUT
    )
    assert AutoPC().segment([still])[0].labels == ("approach",)


def test_slowing_down_is_a_phase_only_for_the_papers_score():
    steps = np.concatenate([np.ones(20), np.linspace(1, 0.2, 20), np.ones(20)])
    actions = np.stack([steps, np.zeros(60), np.zeros(60), -np.ones(60)], axis=1)
    demo = Demo(task="t", index=0, actions=actions, states=np.zeros((60, 1)), layout=LAYOUT)
    ours = AutoPC(min_score=0.35)
    assert len(ours.segment([demo])[0].phases) == 1
    assert len(replace(ours, signals=PAPER_RULES).segment([demo])[0].phases) > 1


def test_the_papers_segmenter_copies_the_ratios_of_the_papers_score():
    demos = [scripted_demo((12, 6, 14), index=0), scripted_demo((24, 12, 28), index=1)]
    found = PAPER_SEGMENTER.segment(demos)
    assert PAPER_SEGMENTER.signals == PAPER_RULES
    position = PAPER_SEGMENTER.reference(demos)
    ratios = [step / found[position].num_frames for step in found[position].boundaries]
    other = found[1 - position]
    assert list(other.boundaries) == by_ratio(
        ratios, num_frames=other.num_frames, min_phase_frames=1
    )


def test_no_more_phases_than_allowed():
    found = AutoPC(max_phases=2).segment([scripted_demo()])
    assert found[0].boundaries == (12,)


def test_a_demonstration_shorter_than_its_phases_is_refused():
    short = Demo(task="t", index=9, actions=np.ones((2, 4)), states=np.zeros((2, 1)), layout=LAYOUT)
    with pytest.raises(BadInput, match="2 frames cannot hold 3 phases"):
        AutoPC().segment([scripted_demo(index=0), scripted_demo(index=1), short])


def test_no_demonstrations_are_refused():
    with pytest.raises(BadInput, match="no demonstrations"):
        AutoPC().segment([])


@pytest.mark.parametrize(
    "wrong", [{"max_phases": 0}, {"min_phase_frames": 0}, {"boundaries": "guess"}]
)
def test_senseless_settings_are_refused(wrong):
    with pytest.raises((BadInput, TypeError)):
        AutoPC(**wrong)


def test_the_representative_is_typical_in_length_then_in_motion():
    usual = [scripted_demo(index=index) for index in range(3)]
    odd = scripted_demo(index=3, directions=((-1.0, 0.0, 1.0), (0.0,) * 3, (0.0, -1.0, -1.0)))
    long = scripted_demo((40, 6, 14), index=4)
    assert representative([long, odd, *usual]) in (2, 3, 4)


ratio_lists = st.lists(st.floats(0, 1), min_size=1, max_size=4).map(sorted)


@given(ratios=ratio_lists, num_frames=st.integers(5, 300), shortest=st.integers(1, 5))
def test_ratios_always_leave_every_phase_its_frames(ratios, num_frames, shortest):
    steps = by_ratio(ratios, num_frames=num_frames, min_phase_frames=shortest)
    lengths = np.diff([0, *steps, num_frames])
    assert lengths.min() >= min(shortest, num_frames // (len(ratios) + 1))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 9999), lengths=st.lists(st.integers(5, 120), min_size=1, max_size=6))
def test_all_demonstrations_get_the_same_labels_on_any_actions(seed, lengths):
    rng = np.random.default_rng(seed)
    demos = [
        Demo(
            task="t",
            index=index,
            actions=rng.normal(size=(length, 4)),
            states=np.zeros((length, 1)),
            layout=LAYOUT,
        )
        for index, length in enumerate(lengths)
    ]
    for boundaries in ("per-demo", "ratio"):
        found = AutoPC(boundaries=boundaries).segment(demos)
        assert len({one.labels for one in found}) == 1
        assert [one.num_frames for one in found] == lengths


@settings(max_examples=60, deadline=None)
@given(
    several=st.lists(
        arrays(
            np.float64,
            st.tuples(st.integers(6, 40), st.just(4)),
            elements=st.floats(allow_nan=False, allow_infinity=False),
        ),
        min_size=1,
        max_size=4,
    ),
    boundaries=st.sampled_from(["per-demo", "ratio"]),
)
def test_any_finite_actions_are_cut_into_the_same_phases(several, boundaries):
    demos = [
        Demo(task="t", index=k, actions=one, states=np.zeros((len(one), 1)), layout=LAYOUT)
        for k, one in enumerate(several)
    ]
    found = AutoPC(boundaries=boundaries).segment(demos)
    assert len({one.labels for one in found}) == 1
