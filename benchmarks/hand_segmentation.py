"""`python -m benchmarks.hand_segmentation`: boundaries in demonstrations that people give by hand.

Nine of ten steps idle, bursts, keys, overshoot and correction, other speeds, one use of the gripper
(`benchmarks/hard_teleoperation.py`), made from the experts of all Meta-World tasks and of LIBERO's
goal and long suites. Nothing is chosen on the half of the tasks that is reported.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from benchmarks import hand_tables, libero_segmentation
from benchmarks.boundary_rules import Find
from benchmarks.hand_rules import OURS, STAGE_ONE, hand_rules
from benchmarks.hand_truth import HandTask, gripper_changes, libero_tasks, metaworld_tasks
from benchmarks.publishing import publish
from benchmarks.stage_truth import Example, Rollouts, roll_out, segmentation
from phaser.core.errors import MissingDependency
from phaser.phases.agreement import agreement, matched_boundaries
from phaser.phases.autopc import AutoPC

SUITES = ("libero-goal", "libero-long")
SCRIPTED_PER_TASK = 10
PER_TASK = 12
"""Demonstrations of a task that the rules are compared on, two of each style."""
SIZES = (3, 10, 50)
TOLERANCES = (5, 10)
NUM_DRAWS = 4000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("segmentation"), help="two files in here")
    chosen = parser.parse_args()
    found = measure(roll_out(), scripted_libero())
    publish(chosen.out, "hand_segmentation", found, "\n".join(hand_tables.markdown(found)))


def scripted_libero() -> dict[str, list[Example]]:
    """Demonstrations of LIBERO's experts; none where LIBERO is not installed."""
    try:
        return libero_segmentation.staged_examples(SUITES, count=SCRIPTED_PER_TASK)
    except MissingDependency as error:
        print(f"LIBERO is left out: {error}", flush=True)
        return {}


def measure(rollouts: Rollouts, libero: Mapping[str, Sequence[Example]]) -> dict[str, Any]:
    tasks = [*metaworld_tasks(rollouts), *libero_tasks(libero)]
    choosing = [task for task in tasks if task.chooses]
    reported = [task for task in tasks if not task.chooses]
    print(f"by hand: {len(choosing)} tasks to choose on, {len(reported)} to report", flush=True)
    return {
        "choosing": [task.task for task in choosing],
        "reported": [task.task for task in reported],
        "rules": _rules(choosing, reported),
        "styles": _styles(reported),
        "whole": {str(size): _whole(reported, size) for size in SIZES},
    }


def _rules(choosing: Sequence[HandTask], reported: Sequence[HandTask]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    ours: dict[str, Any] = {}
    for rule in hand_rules():
        settings = list(rule.choices)
        if len(settings) > 1:
            settings.sort(key=lambda name: -_f1(rule.choices[name], choosing))
        counts = _counts(rule.choices[settings[0]], reported)
        row = {"name": rule.name, "knows_count": rule.knows_count, "setting": settings[0]}
        row["suites"] = {
            suite: _scores(rule.choices[settings[0]], [t for t in reported if t.suite == suite])
            for suite in dict.fromkeys(task.suite for task in reported)
        }
        row["all"] = _scores(rule.choices[settings[0]], reported)
        row["interval"] = {str(w): _interval(counts[w]) for w in TOLERANCES}
        ours = ours or counts
        row["behind"] = _interval(ours[5], counts[5])
        rows.append(row)
        print(f"{rule.name}: {settings[0]}, F1 {row['all']['5']['f1']:.3f}", flush=True)
    return rows


def _examples(tasks: Sequence[HandTask]) -> list[Example]:
    return [example for task in tasks for example in task.examples[:PER_TASK]]


def _f1(find: Find, tasks: Sequence[HandTask]) -> float:
    return float(_scores(find, tasks)["5"]["f1"])


def _scores(find: Find, tasks: Sequence[HandTask]) -> dict[str, Any]:
    examples = _examples(tasks)
    return _agreements([(find(one), one) for one in examples]) | {
        "gripper": _gripper_found([(find(one), one) for one in examples])
    }


def _agreements(found: Sequence[tuple[Sequence[int], Example]]) -> dict[str, Any]:
    pairs = [(segmentation(steps, one.demo.num_frames), one.truth) for steps, one in found]
    return {str(w): agreement(pairs, tolerance=w).to_json() for w in TOLERANCES}


def _gripper_found(found: Sequence[tuple[Sequence[int], Example]]) -> float:
    """Share of the gripper's changes with a boundary within five steps."""
    hit = total = 0
    for steps, example in found:
        true = gripper_changes(example)
        hit += len(matched_boundaries(list(steps), true, 5))
        total += len(true)
    return hit / max(total, 1)


def _styles(tasks: Sequence[HandTask]) -> dict[str, Any]:
    examples = _examples(tasks)
    finds = {rule.name: next(iter(rule.choices.values())) for rule in hand_rules()[:2]}
    return {
        style: {
            name: _agreements([(find(one), one) for one in examples if one.style == style])
            for name, find in finds.items()
        }
        for style in dict.fromkeys(one.style for one in examples)
    }


def _whole(tasks: Sequence[HandTask], size: int) -> dict[str, Any]:
    """Auto-PC from end to end: the same phases in all demonstrations of a task."""
    found: dict[str, Any] = {}
    for name, auto in (("five phases", AutoPC()), ("as many as there are", STAGE_ONE)):
        pairs: list[tuple[Sequence[int], Example]] = []
        usual: list[tuple[Sequence[int], Example]] = []
        for task in tasks:
            those = task.examples[:size]
            cut = auto.segment([one.demo for one in those])
            uses = [_use(one) for one in those]
            reference = uses[auto.reference([one.demo for one in those])]
            for one, example, use in zip(cut, those, uses, strict=True):
                pairs.append((one.boundaries, example))
                if use == reference:
                    usual.append((one.boundaries, example))
        found[name] = _agreements(pairs) | {
            "gripper": _gripper_found(pairs),
            "gripper_as_reference": _gripper_found(usual),
            "share_as_reference": len(usual) / len(pairs),
        }
    return found


def _use(example: Example) -> tuple[float, ...]:
    """Which way the gripper's command goes at each of its changes."""
    gripper = example.demo.actions[:, -1]
    return tuple(float(np.sign(gripper[k] - gripper[k - 1])) for k in gripper_changes(example))


def _counts(find: Find, tasks: Sequence[HandTask]) -> dict[int, Float[np.ndarray, "tasks 2"]]:
    """Per tolerance and task: matched boundaries, and found plus true ones."""
    rows = {w: np.zeros((len(tasks), 2)) for w in TOLERANCES}
    for position, task in enumerate(tasks):
        for example in task.examples[:PER_TASK]:
            found = list(find(example))
            for w in TOLERANCES:
                matched = len(matched_boundaries(found, example.boundaries, w))
                rows[w][position] += matched, len(found) + len(example.boundaries)
    return rows


def _interval(
    counts: Float[np.ndarray, "tasks 2"], other: Float[np.ndarray, "tasks 2"] | None = None
) -> tuple[float, float]:
    """95 % of F1, or of its lead over another's, when the tasks are drawn again and again."""
    drawn = np.random.default_rng(0).integers(len(counts), size=(NUM_DRAWS, len(counts)))
    again = _pooled(counts[drawn]) - (0.0 if other is None else _pooled(other[drawn]))
    low, high = np.quantile(again, [0.025, 0.975])
    return float(low), float(high)


def _pooled(counts: Float[np.ndarray, "draws tasks 2"]) -> Float[np.ndarray, "draws"]:
    total = counts.sum(axis=1)
    return np.asarray(2 * total[:, 0] / np.maximum(total[:, 1], 1))


def headline(found: Mapping[str, Any]) -> dict[str, float]:
    """The numbers with a goal: F1 of Auto-PC within 5 and 10 steps, gripper events found."""
    row = next(one for one in found["rules"] if one["name"] == OURS)
    return {
        "f1_5": row["all"]["5"]["f1"],
        "f1_10": row["all"]["10"]["f1"],
        "gripper": row["all"]["gripper"],
    }


if __name__ == "__main__":
    main()
