"""Agreement of segmentations: matched boundaries, overlaps, counts, and whole annotations."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput
from phaser.core.segmentation import Segmentation
from phaser.phases.agreement import agreement, matched_boundaries
from phaser.phases.stage_agreement import stage_agreement
from phaser.phases.stage_info import EpisodeStages, RatioPhase, TaskStages


def cut(*boundaries, num_frames=100):
    labels = [f"phase_{k}" for k in range(len(boundaries) + 1)]
    return Segmentation.from_boundaries(boundaries, num_frames=num_frames, labels=labels)


def annotated(*ratios, episodes=()):
    edges = [0.0, *ratios, 1.0]
    phases = tuple(
        RatioPhase(name=f"phase_{k}", start_ratio=a, end_ratio=b)
        for k, (a, b) in enumerate(itertools.pairwise(edges))
    )
    return TaskStages(instruction="lift", phases=phases, source="human", episodes=episodes)


def test_a_segmentation_agrees_with_itself():
    found = agreement([(cut(20, 60), cut(20, 60))], tolerance=0)
    ones = (found.precision, found.recall, found.f1, found.mean_iou, found.f1_at_50)
    assert ones == (1, 1, 1, 1, 1)
    assert (found.over_segmentation, found.under_segmentation) == (1, 0)


def test_a_worked_example():
    # 24 matches 20; 30 and 80 match nothing; 60 is swallowed by the phase [30, 80).
    found = agreement([(cut(24, 30, 80), cut(20, 60))], tolerance=5)
    assert found.precision == pytest.approx(1 / 3)
    assert found.recall == pytest.approx(1 / 2)
    assert found.f1 == pytest.approx(2 / 5)
    assert found.over_segmentation == pytest.approx(4 / 3)
    assert found.under_segmentation == pytest.approx(1 / 4)
    # Reference [0,20): 20/24 with [0,24). [20,60): 30/60 with [30,80). [60,100): 20/40 with
    # [80,100), 20/70 with [30,80).
    assert found.mean_iou == pytest.approx((20 / 24 + 30 / 60 + 20 / 40) / 3)
    assert found.f1_at_50 == pytest.approx(2 * 3 / 7)


def test_one_boundary_cannot_match_two():
    found = agreement([(cut(50), cut(48, 52))], tolerance=5)
    assert (found.precision, found.recall) == (1, 0.5)


def test_counts_are_pooled_over_demonstrations():
    pairs = [(cut(20), cut(20)), (cut(10, 30, 50), cut(80))]
    assert agreement(pairs, tolerance=5).precision == pytest.approx(1 / 4)


def test_single_phases_agree_and_missing_boundaries_do_not():
    assert agreement([(cut(), cut())]).f1 == 1
    none_found = agreement([(cut(), cut(50))])
    assert (none_found.recall, none_found.f1, none_found.under_segmentation) == (0, 0, 1)


steps = st.lists(st.integers(1, 30), unique=True, max_size=5).map(sorted)


@given(steps, steps, st.integers(0, 6))
def test_no_other_matching_pairs_more_boundaries(found, reference, tolerance):
    pairs = matched_boundaries(found, reference, tolerance)
    assert all(abs(a - b) <= tolerance for a, b in pairs)
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    shorter, longer = sorted((found, reference), key=len)
    best = max(
        sum(abs(a - b) <= tolerance for a, b in zip(shorter, chosen, strict=True))
        for chosen in itertools.permutations(longer, len(shorter))
    )
    assert len(pairs) == best


@given(steps, steps, st.integers(0, 6))
def test_swapping_the_sides_swaps_precision_and_recall(found, reference, tolerance):
    one = agreement([(cut(*found), cut(*reference))], tolerance=tolerance)
    other = agreement([(cut(*reference), cut(*found))], tolerance=tolerance)
    assert (one.precision, one.recall) == (other.recall, other.precision)
    assert one.f1 == other.f1
    assert all(0 <= part <= 1 for part in (one.mean_iou, one.f1_at_50, one.under_segmentation))


@pytest.mark.parametrize(
    ("pairs", "tolerance", "message"),
    [
        ([], 5, "no demonstrations"),
        ([(cut(5), cut(5, num_frames=50))], 5, "the same demonstration"),
        ([(cut(5), cut(5))], -1, "0 or more"),
    ],
)
def test_what_cannot_be_compared_is_refused(pairs, tolerance, message):
    with pytest.raises(BadInput, match=message):
        agreement(pairs, tolerance=tolerance)


def test_ratios_are_compared_in_percent():
    found = stage_agreement({"lift": annotated(0.5)}, {"lift": annotated(0.54)}, tolerance=5)
    assert found.overall.f1 == 1
    found = stage_agreement({"lift": annotated(0.5)}, {"lift": annotated(0.56)}, tolerance=5)
    assert found.overall.f1 == 0


def test_steps_of_episodes_win_over_ratios_and_the_other_side_is_scaled():
    steps = EpisodeStages(episode=3, num_frames=200, boundaries=(150,))
    found = {"lift": annotated(0.5, episodes=(steps,))}
    assert stage_agreement(found, {"lift": annotated(0.75)}, tolerance=0).overall.f1 == 1
    other = EpisodeStages(episode=4, num_frames=200, boundaries=(150,))
    with pytest.raises(BadInput, match="different episodes"):
        stage_agreement(found, {"lift": annotated(0.5, episodes=(other,))})


def test_tasks_that_only_one_side_has_are_named():
    found = stage_agreement(
        {"lift": annotated(0.5), "a": annotated(0.1)}, {"lift": annotated(0.5), "b": annotated(0.1)}
    )
    assert (list(found.tasks), found.only_found, found.only_reference) == (["lift"], ("a",), ("b",))
    with pytest.raises(BadInput, match="no task in common"):
        stage_agreement({"a": annotated(0.5)}, {"b": annotated(0.5)})
