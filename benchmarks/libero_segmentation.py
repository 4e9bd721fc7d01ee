"""LIBERO's part of the segmentation benchmark: boundaries against what was true in the simulator.

The scripted experts' demonstrations of LIBERO-Goal as they are recorded; images play no part. Two
references: where what is true changes (touched, grasped, lifted, LIBERO's own predicates), and the
experts' own stages. No setting is chosen here: all come from the Meta-World tasks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.boundary_rules import Find
from benchmarks.stage_truth import Example, segmentation
from phaser.core.demonstration import Demo, Task
from phaser.core.errors import MissingDependency
from phaser.core.folders import cache_folder
from phaser.demos.lerobot import open_dataset
from phaser.phases.agreement import agreement
from phaser.phases.autopc import AutoPC
from phaser.suites.lasting_stages import lasting_stages
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.env import LiberoEnv
from phaser.suites.libero.protocol import PROTOCOLS
from phaser.suites.libero.recorded_truths import read_stage_names, read_truths
from phaser.suites.libero.recording import LAYOUT, LiberoRecording, ProtocolRecording
from phaser.suites.libero.splits import STATES
from phaser.suites.libero.tasks import suite_of, task_named, task_names
from phaser.suites.libero.true_phases import true_boundaries

DEMOS_PER_TASK = 5
TRUTHS = ("predicates", "stages")
TOLERANCES = (5, 10)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TrueDemo:
    """A demonstration with its boundaries by each reference."""

    demo: Demo
    boundaries: Mapping[str, tuple[int, ...]]

    def example(self, truth: str) -> Example:
        """As the rules take it; those that are told the count are told this reference's."""
        found = self.boundaries[truth]
        return Example(demo=self.demo, boundaries=found, entered=(), style=truth)


def measure(finds: Mapping[str, Find], suite: str = "libero-goal") -> dict[str, Any]:
    """Every rule at its chosen setting; a reason instead where LIBERO is not installed."""
    try:
        tasks = {name: _demos(task_named(name)) for name in task_names(suite)}
    except MissingDependency as error:
        return {"left_out": str(error)}
    demos = [one for those in tasks.values() for one in those]
    return {
        "suite": suite,
        "num_demos": len(demos),
        "true_phases": {
            truth: float(np.mean([len(one.boundaries[truth]) + 1 for one in demos]))
            for truth in TRUTHS
        },
        "rules": {name: _scores(find, demos) for name, find in finds.items()},
        "whole": _whole(tasks),
        "per_task": {
            name: {truth: _f1_of_ours(finds, those, truth) for truth in TRUTHS}
            for name, those in tasks.items()
        },
    }


def markdown(found: Mapping[str, Any]) -> list[str]:
    if "left_out" in found:
        return [f"LIBERO was left out: {found['left_out']}", ""]
    phases = found["true_phases"]
    lines = [
        f"{found['suite']}, {found['num_demos']} demonstrations of scripted experts, on average "
        f"{phases['predicates']:.1f} phases by predicates and {phases['stages']:.1f} stages of the "
        "expert; settings as chosen on Meta-World.",
        "",
        "| rule | predicates F1 ±5 | ±10 | recall ±10 | over | stages F1 ±5 | ±10 | over |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, scores in (found["rules"] | found["whole"]).items():
        true, staged = ((scores[truth]["5"], scores[truth]["10"]) for truth in TRUTHS)
        lines.append(
            f"| {name} | {true[0]['f1']:.3f} | {true[1]['f1']:.3f} | {true[1]['recall']:.3f} | "
            f"{true[0]['over_segmentation']:.2f} | {staged[0]['f1']:.3f} | {staged[1]['f1']:.3f} | "
            f"{staged[0]['over_segmentation']:.2f} |"
        )
    told = ", ".join(
        f"{name.replace('_', ' ')} {one['predicates']:.2f}"
        for name, one in sorted(found["per_task"].items(), key=lambda item: item[1]["predicates"])
    )
    return [*lines, "", f"Auto-PC stage 1, F1 ±10 against predicates by task: {told}.", ""]


def staged_examples(suites: Sequence[str], *, count: int) -> dict[str, list[Example]]:
    """The first demonstrations of all tasks of these suites, with the expert's own stages."""
    return {
        name: [one.example("stages") for one in _demos(task_named(name), count)]
        for suite in suites
        for name in task_names(suite)
    }


def _demos(task: Task, count: int = DEMOS_PER_TASK) -> tuple[TrueDemo, ...]:
    """The first demonstrations of the recording; carried out anew, unseen, where there is none."""
    # The recordings of the published grid were made with this control.
    recording = ProtocolRecording(
        settings=LiberoRecording(), protocol=PROTOCOLS["phaser"], control="fast"
    )
    folder = recording.folder(cache_folder(), task, "train")
    truths, stages = read_truths(folder), read_stage_names(folder)
    if truths is None or stages is None:
        return _carried_out(recording, task, count)
    kept = zip(open_dataset(folder).demos(), truths.episodes, stages, strict=True)
    return tuple(
        _true_demo(demo, truths.names, rows, meant) for demo, rows, meant in list(kept)[:count]
    )


def _carried_out(recording: ProtocolRecording, task: Task, count: int) -> tuple[TrueDemo, ...]:
    assets = assets_folder(suite_of(task.name))
    env = LiberoEnv(task, recording.protocol, assets=assets, control=recording.control)
    found: list[TrueDemo] = []
    for state in STATES["train"]:
        if len(found) == count:
            break
        followed = recording.demonstration(env, state, draw=False)
        if followed is None:
            continue
        states, rows = zip(*followed.seen, strict=True)
        demo = Demo(
            task=task.name,
            index=len(found),
            actions=followed.actions,
            states=np.array(states, np.float32),
            layout=LAYOUT,
        )
        found.append(_true_demo(demo, env.truth.names, rows, followed.stages))
    return tuple(found)


def _true_demo(
    demo: Demo, names: Sequence[str], rows: Sequence[tuple[bool, ...]], meant: Sequence[str]
) -> TrueDemo:
    stages = tuple(step for _, step in lasting_stages(meant)[1:])
    true = true_boundaries(names, rows)
    return TrueDemo(demo=demo, boundaries={"predicates": true, "stages": stages})


def _scores(find: Find, demos: Sequence[TrueDemo]) -> dict[str, Any]:
    return {
        truth: _agreements(
            [(find(example), example) for one in demos for example in [one.example(truth)]]
        )
        for truth in TRUTHS
    }


def _whole(tasks: Mapping[str, Sequence[TrueDemo]]) -> dict[str, Any]:
    """Auto-PC from end to end (at most five phases per task), and what the expert itself meant."""
    demos = [one for those in tasks.values() for one in those]
    cut = [
        found.boundaries
        for those in tasks.values()
        for found in AutoPC().segment([one.demo for one in those])
    ]
    return {
        "Auto-PC from end to end": _against(cut, demos),
        "the experts' own stages": _against([one.boundaries["stages"] for one in demos], demos),
    }


def _against(found: Sequence[Sequence[int]], demos: Sequence[TrueDemo]) -> dict[str, Any]:
    return {
        truth: _agreements(
            [(steps, one.example(truth)) for steps, one in zip(found, demos, strict=True)]
        )
        for truth in TRUTHS
    }


def _f1_of_ours(finds: Mapping[str, Find], demos: Sequence[TrueDemo], truth: str) -> float:
    find = next(iter(finds.values()))
    pairs = [(find(one.example(truth)), one.example(truth)) for one in demos]
    return float(_agreements(pairs)["10"]["f1"])


def _agreements(found: Sequence[tuple[Sequence[int], Example]]) -> dict[str, Any]:
    pairs = [(segmentation(steps, one.demo.num_frames), one.truth) for steps, one in found]
    return {str(w): agreement(pairs, tolerance=w).to_json() for w in TOLERANCES}
