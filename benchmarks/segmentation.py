"""`python -m benchmarks.segmentation`: found boundaries against the experts' own stages.

All Meta-World tasks with an expert, five demonstrations each, plain and as if teleoperated. Every
rule's setting is chosen on the half of the tasks that their names' hashes pick, by F1 within ±5
steps summed over both kinds, and reported on the other half; and, at the same settings, against
what was true in LIBERO's simulator. Then demonstrations by hand, made from both suites, and the
names of phases against those of people. One run, one thread.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import hand_segmentation, libero_segmentation, phase_names, segmentation_tables
from benchmarks.boundary_rules import OURS, RULES, Find, Rule, rules
from benchmarks.carrying import carried_errors, event_share, whole_agreement
from benchmarks.f1_differences import difference
from benchmarks.publishing import publish
from benchmarks.stage_truth import Example, TaskExamples, examples, roll_out, segmentation
from phaser.core.demonstration import ActionLayout, Demo
from phaser.phases.agreement import agreement
from phaser.phases.align import Alignment
from phaser.phases.candidates import candidates
from phaser.suites.metaworld.libraries import versions
from phaser.suites.metaworld.tasks import INSTRUCTIONS

KINDS = ("scripted", "teleoperated")
TOLERANCES = (5, 10)
MANY_EPISODES, EPISODE_STEPS = 10_000, 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("segmentation"), help="two files in here")
    parser.add_argument("--tasks", nargs="+", default=list(INSTRUCTIONS), help="fewer, to try")
    chosen = parser.parse_args()
    found = measure(chosen.tasks)
    publish(chosen.out, "segmentation", found, segmentation_tables.markdown(found))


def measure(names: Sequence[str]) -> dict[str, Any]:
    rollouts = roll_out(names)
    tasks = examples(rollouts)
    choosing = [task for task in tasks if task.chooses]
    reported = [task for task in tasks if not task.chooses]
    print(f"{len(choosing)} tasks to choose on, {len(reported)} to report", flush=True)
    found: dict[str, Any] = {
        "versions": versions(),
        "choosing": [task.task for task in choosing],
        "reported": [task.task for task in reported],
        "rules": [_measured(rule, choosing, reported) for rule in rules()],
        "carried": {kind: carried_errors(reported, kind) for kind in KINDS},
        "event_share": {kind: event_share(reported, kind) for kind in KINDS},
        "whole": {kind: whole_agreement(reported, kind) for kind in KINDS},
        "speed": _speed(),
    }
    find = _chosen(found["rules"], OURS)
    found["differences"] = _differences(found["rules"], reported)
    found["styles"] = _by_style(find, reported)
    found["per_task"] = {task.task: _f1(find, task.scripted, 5) for task in reported}
    found["other_truths"] = {
        str(shortest): _scores(find, [task for task in changed if not task.chooses])
        for shortest in (3, 10)
        for changed in [examples(rollouts, shortest=shortest)]
    }
    found["libero"] = libero_segmentation.measure(_all_chosen(found["rules"]))
    libero = hand_segmentation.scripted_libero()
    found["by_hand"] = hand_segmentation.measure(rollouts, libero)
    found["names"] = phase_names.measure(libero) if libero else None
    return found


def _all_chosen(rows: Sequence[dict[str, Any]]) -> dict[str, Find]:
    """Every rule at its chosen setting, by name; a star where it is told the true count."""
    return {
        f"{row['name']} *" if row["knows_count"] else row["name"]: rule.choices[row["setting"]]
        for row, rule in zip(rows, rules(), strict=True)
    }


def _chosen(rows: Sequence[dict[str, Any]], name: str, *, knows_count: bool = False) -> Find:
    """A rule at the setting that was chosen for it, for a closer look."""
    row, rule = next(
        (row, rule)
        for row, rule in zip(rows, rules(), strict=True)
        if (rule.name, rule.knows_count) == (name, knows_count)
    )
    return rule.choices[row["setting"]]


def _differences(
    rows: Sequence[dict[str, Any]], tasks: Sequence[TaskExamples]
) -> list[dict[str, Any]]:
    """Auto-PC against each other rule; told the count against those that are told it, too."""
    found = []
    for row in rows:
        for told in (False, True) if row["knows_count"] else (False,):
            if row["name"] == OURS:
                continue
            ours = _chosen(rows, OURS, knows_count=told)
            theirs = _chosen(rows, row["name"], knows_count=row["knows_count"])
            found.append(
                {"ours_told": told, "other": row["name"], "other_told": row["knows_count"]}
                | {kind: difference(ours, theirs, tasks, kind, 5) for kind in KINDS}
            )
    return found


def _measured(
    rule: Rule, choosing: Sequence[TaskExamples], reported: Sequence[TaskExamples]
) -> dict[str, Any]:
    setting = max(rule.choices, key=lambda name: _both_f1(rule.choices[name], choosing, rule))
    find = rule.choices[setting]
    begin = time.thread_time()
    count = 0
    for example in _of(reported, "scripted"):
        find(example)
        count += 1
    milliseconds = 1e3 * (time.thread_time() - begin) / max(count, 1)
    print(f"{rule.name}: {setting}, {milliseconds:.2f} ms per demonstration", flush=True)
    return {
        "name": rule.name,
        "setting": setting,
        "knows_count": rule.knows_count,
        "ms_per_demo": milliseconds,
        "scores": _scores(find, reported),
    }


def _both_f1(find: Find, tasks: Sequence[TaskExamples], rule: Rule) -> float:
    if len(rule.choices) == 1:
        return 0.0
    return sum(_f1(find, _of(tasks, kind), 5) for kind in KINDS)


def _of(tasks: Sequence[TaskExamples], kind: str) -> list[Example]:
    return [example for task in tasks for example in getattr(task, kind)]


def _scores(find: Find, tasks: Sequence[TaskExamples]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        pairs = _pairs(find, _of(tasks, kind))
        found[kind] = {str(w): agreement(pairs, tolerance=w).to_json() for w in TOLERANCES}
    return found


def _by_style(find: Find, tasks: Sequence[TaskExamples]) -> dict[str, dict[str, Any]]:
    those = _of(tasks, "teleoperated")
    styles = dict.fromkeys(example.style for example in those)
    found: dict[str, dict[str, Any]] = {}
    for style in styles:
        pairs = _pairs(find, [example for example in those if example.style == style])
        found[style] = {str(w): agreement(pairs, tolerance=w).to_json() for w in TOLERANCES}
    return found


def _f1(find: Find, those: Sequence[Example], tolerance: int) -> float:
    return agreement(_pairs(find, those), tolerance=tolerance).f1


def _pairs(find: Find, those: Sequence[Example]) -> list[tuple[Any, Any]]:
    return [(segmentation(find(one), one.demo.num_frames), one.truth) for one in those]


def _speed() -> dict[str, float]:
    """Stage 1 and alignment on many made-up episodes, one after the other, CPU seconds."""
    rng = np.random.default_rng(0)
    layout = ActionLayout(motion=(0, 1, 2), gripper=(3,))
    made = [
        Demo(
            task="made-up",
            index=index,
            actions=np.repeat(rng.normal(size=(EPISODE_STEPS // 10, 4)), 10, axis=0),
            states=np.zeros((EPISODE_STEPS, 0)),
            layout=layout,
        )
        for index in range(100)
    ]
    begin = time.thread_time()
    for index in range(MANY_EPISODES):
        candidates(made[index % len(made)], RULES)
    stage_one = time.thread_time() - begin
    begin = time.thread_time()
    Alignment().carry((60, 120, 180, 240), made, reference=0)
    aligning = time.thread_time() - begin
    return {
        "episodes": MANY_EPISODES,
        "steps": EPISODE_STEPS,
        "stage_one_s": stage_one,
        "alignment_ms_per_episode": 1e3 * aligning / len(made),
    }


if __name__ == "__main__":
    main()
