"""How well the names of phases agree with those that people gave, by their verbs.

The verbs of both are put in order, words for the same thing made equal (`SAME`), what people give
no name of its own left out (closing and opening the hand, moving away) and repeats counted once.
Agreement is twice the number of verbs that both have in the same order, divided by the verbs of
both: 1 where the two are equal. Times play no part: people timed other demonstrations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from benchmarks.stage_truth import Example
from phaser.core.demonstration import Demo
from phaser.demos.layouts import LAYOUTS
from phaser.phases.autopc import AutoPC
from phaser.phases.candidates import GRIPPER_CLOSES, GRIPPER_OPENS, Candidate
from phaser.phases.shipped import read_stages

ANNOTATION = "libero-goal"
SAME = {
    "approach": ("approach", "align", "reach"),
    "move": ("move", "transport", "carry", "lift", "place", "lower", "insert", "throw"),
    "pull": ("pull", "open"),
    "push": ("push", "pushing", "close", "slide", "sweep"),
    "turn": ("turn", "twist"),
    "press": ("press",),
    "hit": ("hit",),
}
_MEANS = {word: verb for verb, words in SAME.items() for word in words}


def verbs(names: Sequence[str]) -> list[str]:
    """The verbs of a row of phases; a name begins with its verb."""
    found = [_MEANS[word] for name in names if (word := name.split("_")[0]) in _MEANS]
    return [verb for verb, _ in groupby(found)]


def in_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The most verbs that both have in the same order."""
    row = [0] * (len(other) + 1)
    for mine in one:
        before = row
        row = [0]
        for position, theirs in enumerate(other):
            same = before[position] + 1 if mine == theirs else 0
            row.append(max(same, row[-1], before[position + 1]))
    return row[-1]


def measure(scripted: Mapping[str, Sequence[Example]]) -> dict[str, Any]:
    """Names of the gripper alone, as in 0.1.0, and of today, against those of people."""
    stages = read_stages(ANNOTATION)
    tasks: dict[str, Any] = {}
    for task, annotated in stages.items():
        demos = [_told(one.demo, annotated.instruction) for one in scripted[task]]
        auto = AutoPC()
        reference = demos[auto.reference(demos)]
        tasks[task] = {
            "people": verbs(annotated.names),
            "before": verbs(gripper_names(auto.chosen(reference))),
            "now": verbs(auto.segment(demos)[0].labels),
            "names": list(auto.segment(demos)[0].labels),
        }
    return {"tasks": tasks} | {kind: _overall(tasks, kind) for kind in ("before", "now")}


def gripper_names(boundaries: Sequence[Candidate]) -> list[str]:
    """The rule of 0.1.0: what the gripper does, and nothing of where the hand goes."""
    following = {"approach": "align", "grasp": "transport", "release": "retreat"}
    names = ["approach"]
    for position, one in enumerate(boundaries):
        closes = [GRIPPER_CLOSES in later.evidence for later in boundaries[position:]]
        if closes[0]:
            names.append("grasp")
        elif GRIPPER_OPENS in one.evidence:
            names.append("release")
        elif names[-1] == "approach" and not any(closes):
            names.append("push")
        else:
            names.append(following.get(names[-1], names[-1]))
    return names


def markdown(found: Mapping[str, Any]) -> list[str]:
    lines = [
        "| task | people | the gripper alone (0.1.0) | now | names now |",
        "|---|---|---|---|---|",
    ]
    for task, one in found["tasks"].items():
        cells = [", ".join(one[kind]) for kind in ("people", "before", "now", "names")]
        lines.append(f"| {task.replace('_', ' ')} | {' | '.join(cells)} |")
    total = len(found["tasks"])
    told = "; ".join(
        f"{kind} {found[kind]['agreement']:.3f}, {found[kind]['equal']} of {total} tasks equal"
        for kind in ("before", "now")
    )
    return [*lines, "", f"Agreement of the verbs: {told}.", ""]


def _overall(tasks: Mapping[str, Any], kind: str) -> dict[str, float]:
    common = sum(in_common(one[kind], one["people"]) for one in tasks.values())
    total = sum(len(one[kind]) + len(one["people"]) for one in tasks.values())
    equal = sum(one[kind] == one["people"] for one in tasks.values())
    return {"agreement": 2 * common / total, "equal": equal}


def _told(demo: Demo, instruction: str) -> Demo:
    """With what a reader of files would know of it."""
    return replace(demo, instruction=instruction, layout=LAYOUTS["libero"].layout)
