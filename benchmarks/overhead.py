"""`python -m benchmarks.overhead`: what every method costs beside er, measured and estimated.

The shipped learner trains on the last of ten Meta-World tasks while it rehearses the nine before
it. All methods begin with the same weights, see the same current frames and make one step each in
turn; times are processor time of one thread. The second part is an estimate at real size.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.interleaved import Ratio, seconds_per_call
from benchmarks.overhead_backbone import Backbone
from benchmarks.overhead_cases import BUDGET, Case, Stream
from benchmarks.overhead_estimate import estimate
from benchmarks.overhead_memory import bytes_on_disk, most_bytes
from benchmarks.overhead_shapes import TINY
from benchmarks.overhead_tables import estimate_tables, policy_table, targets
from benchmarks.overhead_turns import Turn, share_one_heap, take_turns
from phaser.core.ports import Segmenter
from phaser.core.streams import Streams
from phaser.experiments.allocator import keep_freed_memory
from phaser.experiments.kept_frames import KeptFrames
from phaser.experiments.prepare import Preparation
from phaser.experiments.presets import preset
from phaser.experiments.run import Run
from phaser.methods.method import Method
from phaser.methods.table import METHODS, method
from phaser.policies.tiny.settings import Tiny
from phaser.routing.prototypes import prototypes
from phaser.training.fit import Fit
from phaser.training.material import TaskMaterial

BASELINE, AGAIN = "er", "er again"
SOME_METHODS = ("er", "phaser", "mir")
WARM_UP = 3
"""Rounds that are made and not counted."""
TRANSITION_ROUNDS = 5
FIT = Fit()
SMALL_FIT = replace(FIT, batch_size=8)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A policy to measure methods on."""

    title: str
    build: Callable[[Run], torch.nn.Module]
    fit: Fit = FIT
    methods: tuple[str, ...] = tuple(METHODS)


def _tiny(run: Run, head: str) -> torch.nn.Module:
    settings = Tiny(head=head)
    return settings.build(run.suite.contract, Streams(0).named("weights"))


def _stand_in(head: str) -> torch.nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Backbone(TINY[head])


SUBJECTS = {
    "tiny": Subject(title="Tiny policy, L1 regression", build=lambda run: _tiny(run, "regression")),
    "tiny-flow": Subject(
        title="Tiny policy, flow matching",
        build=lambda run: _tiny(run, "flow"),
        methods=SOME_METHODS,
    ),
    "lora": Subject(
        title="Stand-in for OpenVLA-OFT and QwenOFT: LoRA, L1 regression",
        build=lambda run: _stand_in("regression"),
        fit=SMALL_FIT,
    ),
    "lora-flow": Subject(
        title="Stand-in for QwenGR00T: LoRA, flow matching",
        build=lambda run: _stand_in("flow"),
        fit=SMALL_FIT,
    ),
}

ESTIMATE = "estimate"
PARTS = (*SUBJECTS, ESTIMATE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), help="beside er")
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS, help="default: all")
    parser.add_argument("--rounds", type=int, default=60, help="steps of every method, in turn")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    share_one_heap()
    methods = {name: method(name) for name in dict.fromkeys([BASELINE, *chosen.methods])}
    found: dict[str, Any] = {}
    policies = [name for name in SUBJECTS if name in chosen.parts]
    if policies:
        found = measure(methods, policies, rounds=chosen.rounds)
    if ESTIMATE in chosen.parts:
        say("estimate")
        found["estimate"] = estimate(methods)
    print(json.dumps(found, indent=2) if chosen.json else markdown(found))


def markdown(found: Mapping[str, Any]) -> str:
    parts = [policy_table(one) for one in found.get("policies", ())]
    if parts:
        parts.append(targets(found))
    if "estimate" in found:
        parts.append(estimate_tables(found["estimate"]))
    return "\n".join(parts)


def measure(
    methods: Mapping[str, Method], policies: Sequence[str], *, rounds: int
) -> dict[str, Any]:
    run = preset("metaworld-10")
    say("recordings, features and phases")
    preparation = Preparation.of(run.suite, run.policy, run.encoders, chunk_length=8)
    made = {
        segmenter: [preparation.material(task, segmenter) for task in run.suite.tasks()]
        for segmenter in dict.fromkeys(one.segmenter for one in methods.values())
    }
    say("what is stored")
    stored = stored_bytes(run, methods, made)
    streams = {segmenter: _stream(some) for segmenter, some in made.items()}
    return {
        "rounds": rounds,
        "phases_ms": phases_ms(run, made[methods[BASELINE].segmenter][-1]),
        "policies": [
            measured(SUBJECTS[name], run, methods, streams, stored, rounds=rounds)
            for name in policies
        ],
    }


def measured(
    subject: Subject,
    run: Run,
    methods: Mapping[str, Method],
    streams: Mapping[Segmenter, Stream],
    stored: Mapping[str, int],
    *,
    rounds: int,
) -> dict[str, Any]:
    """One policy with every method that it is measured with; streams by their segmenters."""
    policy, fit = subject.build(run), subject.fit
    names = [name for name in methods if name in subject.methods]

    say(f"{subject.title}: memory")
    cases = {
        name: Case.of(name, methods[name], streams[methods[name].segmenter], policy, fit)
        for name in names
    }
    # The same work twice shows what the measurement itself cannot tell apart.
    fresh = {name: one.afresh() for name, one in cases.items()}
    fresh[AGAIN] = cases[BASELINE].afresh()
    peaks = {name: most_bytes(one) for name, one in cases.items()}
    transitions = transition_ms(cases)
    turns = {name: one.turn(steps=WARM_UP + rounds) for name, one in fresh.items()}
    take_turns(
        turns,
        rounds=WARM_UP + rounds,
        told=lambda number: say(f"{subject.title}: round {number} of {WARM_UP + rounds}"),
    )
    rows = [
        {
            "method": name,
            **step_cost(turns[name], turns[BASELINE], one),
            "transition_ms": transitions[name],
            "peak_bytes": peaks[name] - peaks[BASELINE],
            "memory_bytes": stored[name],
            "penalty_bytes": bytes_on_disk(one.state),
        }
        for name, one in cases.items()
    ]
    return {
        "policy": subject.title,
        "batch_size": fit.batch_size,
        "steps_per_task": fit.steps_per_task,
        "trained_weights": sum(w.numel() for w in policy.parameters() if w.requires_grad),
        "noise": asdict(step_ratio(turns[AGAIN], turns[BASELINE])),
        "rows": [with_share(row, fit.steps_per_task) for row in rows],
    }


def step_cost(turn: Turn, baseline: Turn, case: Case) -> dict[str, Any]:
    """A step's time and ratio, with its share of the questions that its task's sampler asks."""
    answers = [taken for taken in turn.measuring_ms if taken]
    mean = sum(answers) / len(answers) if answers else 0.0
    measuring = mean * case.questions() / case.fit.steps_per_task
    usual = float(np.median(baseline.step_ms[WARM_UP:]))
    ratio = step_ratio(turn, baseline)
    return {
        "step_ms": float(np.median(turn.step_ms[WARM_UP:])) + measuring,
        "measuring_ms": measuring,
        "step_ratio": {name: part + measuring / usual for name, part in asdict(ratio).items()},
    }


def step_ratio(turn: Turn, baseline: Turn) -> Ratio:
    return Ratio.of(turn.step_ms[WARM_UP:], baseline.step_ms[WARM_UP:])


def with_share(row: dict[str, Any], steps_per_task: int) -> dict[str, Any]:
    share = row["transition_ms"] / (steps_per_task * row["step_ms"])
    return {**row, "transition_share": share}


def transition_ms(cases: Mapping[str, Case]) -> dict[str, float]:
    """The median of some rounds, in turn; the first call warms up; 0 where there is none."""
    works = {name: case.transition() for name, case in cases.items()}
    taken = seconds_per_call(
        {name: (lambda number, work=work: work()) for name, work in works.items() if work},
        rounds=TRANSITION_ROUNDS,
    )
    return {name: 1000 * float(np.median(taken.get(name, [0.0]))) for name in cases}


def stored_bytes(
    run: Run, methods: Mapping[str, Method], made: Mapping[Segmenter, Sequence[TaskMaterial]]
) -> dict[str, int]:
    """All files of the memory after the earlier tasks; methods that keep alike store alike."""
    known: dict[object, int] = {}
    found = {}
    for name, one in methods.items():
        rule = (one.keep, one.segmenter, one.joint)
        if rule not in known:
            with tempfile.TemporaryDirectory() as folder:
                kept = KeptFrames(path=Path(folder) / "memory", run=run.with_method(one))
                for task in () if one.joint else made[one.segmenter][:-1]:
                    stream = Streams(0).named("keep", task.prepared.task.name)
                    kept.add(task, BUDGET.keep(one.keep, task.prepared, stream=stream))
                files = [path for path in Path(folder).rglob("*") if path.is_file()]
                known[rule] = sum(path.stat().st_size for path in files)
        found[name] = known[rule]
    return found


def phases_ms(run: Run, made: TaskMaterial) -> float:
    """To find a task's phases and their prototypes; features of frames are the policy's inputs."""
    prepared = made.prepared
    segmenter = run.segmenter_of(prepared.task.name)

    def find(number: int) -> object:
        return prototypes(
            prepared.demos,
            segmenter.segment(prepared.demos),
            instruction_embedding=prepared.prototypes[0].language,
            frame_features=prepared.features,
        )

    taken = seconds_per_call({"phases": find}, rounds=TRANSITION_ROUNDS)
    return 1000 * float(np.median(taken["phases"]))


def say(text: str) -> None:
    """Progress, on one line of the terminal or now and then into a log."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif "round" not in text or text.split()[-3].endswith("0"):
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _stream(made: Sequence[TaskMaterial]) -> Stream:
    return Stream(
        tasks=[one.prepared for one in made],
        frames={one.prepared.task.name: one.train for one in made},
    )


if __name__ == "__main__":
    main()
