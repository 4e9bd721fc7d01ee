"""How well two segmentations of the same demonstrations agree: boundaries, phases, their number.

Names play no part: people and models name the same sub-skill differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from phaser.core.errors import BadInput
from phaser.core.segmentation import Phase, Segmentation


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """A found segmentation against a reference, counts pooled over all demonstrations."""

    num_demos: int
    tolerance: int
    precision: float
    """Share of found boundaries that match a reference boundary within the tolerance."""
    recall: float
    """Share of reference boundaries that a found one matches; each is used once."""
    f1: float
    over_segmentation: float
    """Found phases per reference phase; above 1 there are too many."""
    under_segmentation: float
    """Share of found phases that swallow a reference boundary which nothing matches."""
    mean_iou: float
    """Overlap of each reference phase with the found phase that fits it best, averaged."""
    f1_at_50: float
    """F1 over phases, where a pair matches that shares at least half of its union."""

    def to_json(self) -> dict[str, int | float]:
        return asdict(self)


def agreement(
    pairs: Iterable[tuple[Segmentation, Segmentation]], *, tolerance: int = 5
) -> Agreement:
    """The agreement of (found, reference) pairs; where neither has a boundary they agree fully."""
    if tolerance < 0:
        raise BadInput(f"a tolerance of {tolerance} steps; expected 0 or more")
    counts = _Counts()
    for found, reference in pairs:
        if found.num_frames != reference.num_frames:
            raise BadInput(
                f"segmentations of {found.num_frames} and {reference.num_frames} frames; "
                "expected two of the same demonstration"
            )
        counts.add(found, reference, tolerance)
    if counts.num_demos == 0:
        raise BadInput("no demonstrations to compare; expected at least one that both describe")
    return counts.summary(tolerance)


def matched_boundaries(
    found: Sequence[int], reference: Sequence[int], tolerance: int
) -> list[tuple[int, int]]:
    """The most pairs within the tolerance, each step used once; both lists in order.

    Taking the earliest partner that is still in reach leaves the most for the rest, because all
    reaches are equally wide.
    """
    pairs, position = [], 0
    for step in found:
        while position < len(reference) and reference[position] < step - tolerance:
            position += 1
        if position < len(reference) and reference[position] <= step + tolerance:
            pairs.append((step, reference[position]))
            position += 1
    return pairs


@dataclass(slots=True)
class _Counts:
    num_demos: int = 0
    boundaries_found: int = 0
    boundaries_true: int = 0
    boundaries_matched: int = 0
    phases_found: int = 0
    phases_true: int = 0
    phases_matched: int = 0
    phases_swallowing: int = 0
    iou: float = 0.0

    def add(self, found: Segmentation, reference: Segmentation, tolerance: int) -> None:
        pairs = matched_boundaries(found.boundaries, reference.boundaries, tolerance)
        missed = set(reference.boundaries) - {true for _, true in pairs}
        self.num_demos += 1
        self.boundaries_found += len(found.boundaries)
        self.boundaries_true += len(reference.boundaries)
        self.boundaries_matched += len(pairs)
        self.phases_found += len(found.phases)
        self.phases_true += len(reference.phases)
        self.phases_swallowing += len({found.phase_at(step) for step in missed})
        overlaps = [[_iou(a, b) for b in found.phases] for a in reference.phases]
        self.iou += sum(max(row) for row in overlaps)
        self.phases_matched += _half_matches(overlaps)

    def summary(self, tolerance: int) -> Agreement:
        matched = self.boundaries_matched
        return Agreement(
            num_demos=self.num_demos,
            tolerance=tolerance,
            precision=_share(matched, self.boundaries_found),
            recall=_share(matched, self.boundaries_true),
            f1=_share(2 * matched, self.boundaries_found + self.boundaries_true),
            over_segmentation=self.phases_found / self.phases_true,
            under_segmentation=self.phases_swallowing / self.phases_found,
            mean_iou=self.iou / self.phases_true,
            f1_at_50=2 * self.phases_matched / (self.phases_found + self.phases_true),
        )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _iou(left: Phase, right: Phase) -> float:
    shared = min(left.stop, right.stop) - max(left.start, right.start)
    union = len(left) + len(right) - max(shared, 0)
    return max(shared, 0) / union


def _half_matches(overlaps: Sequence[Sequence[float]]) -> int:
    """Pairs at 0.5 or more, each phase used once; above 0.5 a phase has no second partner."""
    used: set[int] = set()
    for row in overlaps:
        fitting = [k for k, overlap in enumerate(row) if overlap >= 0.5 and k not in used]
        if fitting:
            used.add(max(fitting, key=lambda k: row[k]))
    return len(used)
