"""Names for phases, read off the evidence at the boundaries that open them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from phaser.phases.candidates import GRIPPER_CLOSES, GRIPPER_OPENS, Candidate

_NEXT = {
    "approach": "align",
    "align": "align",
    "push": "push",
    "grasp": "transport",
    "transport": "transport",
    "release": "retreat",
    "retreat": "retreat",
}


def labels(boundaries: Sequence[Candidate]) -> tuple[str, ...]:
    """One unique label per phase; a repeated kind is numbered from its second occurrence."""
    kinds = ["approach"]
    for position, boundary in enumerate(boundaries):
        later = boundaries[position + 1 :]
        kinds.append(_kind_after(kinds[-1], boundary, later))
    seen: Counter[str] = Counter()
    unique = []
    for kind in kinds:
        seen[kind] += 1
        unique.append(kind if seen[kind] == 1 else f"{kind}_{seen[kind]}")
    return tuple(unique)


def _kind_after(previous: str, boundary: Candidate, later: Sequence[Candidate]) -> str:
    if GRIPPER_CLOSES in boundary.evidence:
        return "grasp"
    if GRIPPER_OPENS in boundary.evidence:
        return "release"
    grasp_follows = any(GRIPPER_CLOSES in candidate.evidence for candidate in later)
    if previous == "approach" and not grasp_follows:
        # Without a grasp to come, the hand acts on the object by contact alone.
        return "push"
    return _NEXT[previous]
