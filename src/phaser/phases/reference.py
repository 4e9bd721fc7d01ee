"""Which demonstration stands for its task when people gave it, and what to tell them about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from phaser.phases.gripper import directions
from phaser.phases.lapse import MOST, Lapse
from phaser.phases.representative import representative


def reference_of(seen: Sequence[Lapse]) -> int:
    """Position of the representative; by hand, only of those that use the gripper as most do.

    People lose their grip and try again, and some stop early: such a demonstration is typical in
    length, perhaps, but not in what happens.
    """
    usual = list(range(len(seen)))
    if any(one.by_hand for one in seen):
        uses = Counter(directions(one.grips) for one in seen)
        most = max(uses.values())
        use = min((len(use), use) for use, count in uses.items() if count == most)[1]
        usual = [k for k in usual if directions(seen[k].grips) == use]
    chosen = representative(
        [seen[position].demo for position in usual],
        originals=[seen[position].taken_from for position in usual],
    )
    return usual[chosen]


def idle_remarks(seen: Sequence[Lapse]) -> tuple[str, ...]:
    """A sentence where most steps of a task are idle, with what was done about it."""
    idle = [one for one in seen if one.idle_share > MOST]
    if not idle:
        return ()
    share = median(one.idle_share for one in idle)
    taken = sum(len(one.steps) < one.taken_from.num_frames for one in idle)
    whose = "all" if len(idle) == len(seen) else f"{len(idle)} of {len(seen)}"
    found = f"{share:.0%} of the steps are idle in {whose} demonstrations"
    if taken == 0:
        return (f"{found}; phases were found on all steps, because idle ones were not left out",)
    done = "phases were found on the steps that move and are given in original steps"
    rest = "" if taken == len(idle) else f", except in {len(idle) - taken} that hardly move"
    return (f"{found}; {done}{rest}",)
