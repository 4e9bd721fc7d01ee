"""Names for phases: from the instruction's verbs, the gripper, and the way the hand goes.

A phase is approach, align, grasp, lift, transport, place, release or retreat, or what the
instruction asks for: pull, push, slide, turn, press, sweep, kick, hit, insert, throw, pour. Names
are for people; which phases there are does not depend on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo
from phaser.phases.candidates import GRIPPER_CLOSES, GRIPPER_OPENS, Candidate
from phaser.phases.signals import commanded_motion
from phaser.phases.verbs import CARRY, Asked, asked
from phaser.phases.working import first_at_work, goes

_UNKNOWN = Asked(name=CARRY, kind="carry")
_HARDLY = 0.2


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Phase:
    """A phase before it has a name."""

    opens: str
    """How the gripper begins it: GRIPPER_CLOSES, GRIPPER_OPENS or nothing."""
    way: Float[np.ndarray, "3"] | None
    """How far the hand went along x, y and z; nothing where the layout does not say."""


def labels(
    boundaries: Sequence[Candidate], demo: Demo, *, instruction: str | None = None
) -> tuple[str, ...]:
    """One unique label per phase of a demonstration; a repeated one is numbered from its second.

    `boundaries` lie in steps of `demo`; `instruction` takes the place of the demonstration's own.
    """
    phases = _phases(boundaries, demo)
    wanted = asked(demo.instruction if instruction is None else instruction)
    seen: Counter[str] = Counter()
    unique = []
    for name in _names(phases, wanted):
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(unique)


def _names(phases: Sequence[_Phase], wanted: Sequence[Asked]) -> list[str]:
    """Phase by phase: spans in which the hand holds something, and what lies around them."""
    names = ["approach"]
    num_done, position = 0, 1
    while position < len(phases):
        stop = _span_end(phases, position)
        span, task = phases[position:stop], _nth(wanted, num_done)
        grasp_follows = stop < len(phases) and phases[stop].opens == GRIPPER_CLOSES
        if phases[position].opens == GRIPPER_CLOSES:
            names += _held(phases[0], span, task)
            num_done += 1
        elif num_done == 0:
            names += ["align"] * len(span) if grasp_follows else _touched(phases[0], span, task)
        elif grasp_follows:
            names += _between(span)
        elif num_done < len(wanted):
            names += ["release", *_touched(phases[0], span[1:], wanted[num_done])]
        else:
            names += ["release", *["retreat"] * (len(span) - 1)]
        position = stop
    return names


def _span_end(phases: Sequence[_Phase], start: int) -> int:
    """Phases from `start` on with the gripper as it is there."""
    holds = phases[start].opens == GRIPPER_CLOSES
    ends = GRIPPER_OPENS if holds else GRIPPER_CLOSES
    stop = start + 1
    while stop < len(phases) and phases[stop].opens != ends:
        stop += 1
    return stop


def _nth(wanted: Sequence[Asked], number: int) -> Asked | None:
    """The last thing asked for is what is tried again, too."""
    return wanted[min(number, len(wanted) - 1)] if wanted else None


def _held(approach: _Phase, span: Sequence[_Phase], task: Asked | None) -> list[str]:
    """From the closing of the gripper to its opening."""
    if len(span) == 1:
        return [_alone(approach, span[0], task)]
    task = task or _UNKNOWN
    moves = span[1:]
    ways = [one.way for one in moves]
    starts = len(moves)
    if task.kind == "contact":
        starts = first_at_work(ways, task, before=None)
    elif task.kind == "tool":
        starts = len(moves) - 1
    carried = [_carried(way, last=k == len(moves) - 1) for k, way in enumerate(ways[:starts])]
    return ["grasp", *carried, *[task.name] * (len(moves) - starts)]


def _alone(approach: _Phase, grasp: _Phase, task: Asked | None) -> str:
    """A grasp that no other phase follows holds what is done, unless the hand hardly moves."""
    if grasp.way is None or approach.way is None:
        return task.name if task else "grasp"
    if np.linalg.norm(grasp.way) <= _HARDLY * np.linalg.norm(approach.way):
        return "grasp"
    return _carried(grasp.way, last=False) if task is None or task.kind == "carry" else task.name


def _carried(way: Float[np.ndarray, "3"] | None, *, last: bool) -> str:
    if way is not None and goes(way, "up"):
        return "lift"
    return "place" if last and way is not None and goes(way, "down") else CARRY


def _touched(approach: _Phase, span: Sequence[_Phase], task: Asked | None) -> list[str]:
    """Without a grasp the hand reaches the object and acts on it by contact alone."""
    ways = [one.way for one in span]
    task = task or Asked(name="push", kind="contact")
    if task.name == "reach" or not span:
        return ["reach"] * len(span)
    if task.kind == "carry":
        task = Asked(name="push", kind="contact", way=task.way)
    starts = first_at_work(ways, task, before=approach.way)
    return ["reach"] * starts + [task.name] * (len(span) - starts)


def _between(span: Sequence[_Phase]) -> list[str]:
    """From letting one thing go to the grasp of the next, which the hand approaches last."""
    return (
        ["release", *["retreat"] * (len(span) - 2), "approach"] if len(span) > 1 else ["approach"]
    )


def _phases(boundaries: Sequence[Candidate], demo: Demo) -> list[_Phase]:
    edges = [0, *(one.step for one in boundaries), demo.num_frames]
    motion = commanded_motion(demo)
    columns = [demo.layout.motion.index(k) for k in demo.layout.translation]
    found = []
    for position, (start, stop) in enumerate(pairwise(edges)):
        evidence = boundaries[position - 1].evidence if position else frozenset()
        opens = next((tag for tag in (GRIPPER_CLOSES, GRIPPER_OPENS) if tag in evidence), "")
        way = motion[start:stop][:, columns].sum(axis=0) if columns else None
        found.append(_Phase(opens=opens, way=way))
    return found
