"""`phaser phases stats|agree`: how unequal annotated phases are, how well two annotations agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from phaser.cli.arguments import Parser, split_first, steps
from phaser.cli.output import print_json
from phaser.cli.text_table import columns, printable
from phaser.core.errors import BadInput, UnknownName
from phaser.phases.agreement import Agreement
from phaser.phases.nonuniformity import NonUniformity, nonuniformity
from phaser.phases.shipped import SHIPPED, read_stages
from phaser.phases.stage_agreement import StageAgreement, stage_agreement
from phaser.phases.stage_info import TaskStages

HELP = """\
usage: phaser phases stats FILE [--json]
       phaser phases agree FOUND REFERENCE [--tolerance 5] [--json]

stats  how unequal in length the phases are: K, mean, σ, CV, longest/shortest, boost
agree  how well the boundaries of one annotation match those of another

FILE, FOUND and REFERENCE are stage_info.json files, or the name of an annotation that comes with
the package: """ + ", ".join(SHIPPED)

AGREEMENT_HEADER = (
    "task",
    "demos",
    "precision",
    "recall",
    "F1",
    "over-seg.",
    "under-seg.",
    "IoU",
    "F1@50",
)


def execute(arguments: Sequence[str]) -> int:
    name, words = split_first(arguments)
    actions: dict[str, Callable[[Sequence[str]], int]] = {"stats": _stats, "agree": _agree}
    if not name and ("-h" in words or "--help" in words):
        print(HELP)
        return 0
    if not name:
        raise BadInput("phases: say stats or agree first; see phaser phases --help")
    if name not in actions:
        raise UnknownName("action of phaser phases", name, actions)
    return actions[name](words)


def _stats(arguments: Sequence[str]) -> int:
    parser = Parser("phases stats", "Non-uniformity of the phases of annotated tasks.")
    parser.add_argument("file", metavar="FILE", help=f"stage_info.json, or {', '.join(SHIPPED)}")
    parser.add_argument("--json", action="store_true", help="print JSON, not rounded")
    chosen = parser.parse(arguments)
    with np.errstate(over="ignore"):
        found = nonuniformity(_stages(chosen.file))
    if not all(math.isfinite(value) for value in found.to_json().values()):
        raise BadInput(f"{chosen.file} holds a phase too short to measure; remove or merge it")
    if chosen.json:
        print_json({"annotation": chosen.file, **found.to_json()})
    else:
        print("\n".join(_stats_lines(chosen.file, found)))
    return 0


def _stats_lines(name: str, found: NonUniformity) -> list[str]:
    header = ("annotation", "tasks", "K", "mean", "σ", "CV", "median", "worst", "boost")
    row = (
        name,
        str(found.num_tasks),
        str(found.num_phases),
        f"{found.mean:.2f}",
        f"{found.deviation:.2f}",
        f"{found.variation:.2f}",
        f"{found.median_disparity:.2f}×",
        f"{found.worst_disparity:.2f}×",
        f"{found.boost:.1f}×",
    )
    return [
        *columns([header, row], right=range(1, len(header))),
        "",
        "mean, σ, CV: share of its demonstration that a phase takes · median, worst: longest over",
        "shortest phase of a task · boost: how much more of the shortest phase equal buckets hold",
    ]


def _agree(arguments: Sequence[str]) -> int:
    parser = Parser("phases agree", "Agreement of two annotations of the same tasks.")
    parser.add_argument("found", metavar="FOUND", help="the annotation to judge")
    parser.add_argument("reference", metavar="REFERENCE", help="the annotation it is held to")
    parser.add_argument(
        "--tolerance",
        type=steps,
        default=5,
        metavar="STEPS",
        help="steps that boundaries may differ (default: 5); percent where neither has episodes",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, not rounded")
    chosen = parser.parse(arguments)
    found = stage_agreement(
        _stages(chosen.found), _stages(chosen.reference), tolerance=chosen.tolerance
    )
    if chosen.json:
        print_json(found.to_json())
    else:
        print("\n".join(_agreement_lines(found)))
    return 0


def _agreement_lines(found: StageAgreement) -> list[str]:
    rows = [_agreement_row(name, one) for name, one in found.tasks.items()]
    total = _agreement_row("all", found.overall)
    table = columns([AGREEMENT_HEADER, *rows, total], right=range(1, len(AGREEMENT_HEADER)))
    lines = [*table, "", f"boundaries match within ±{found.overall.tolerance} steps"]
    for who, names in (("FOUND", found.only_found), ("REFERENCE", found.only_reference)):
        if names:
            lines.append(printable(f"left out, in {who} only: {', '.join(names)}"))
    return lines


def _agreement_row(name: str, one: Agreement) -> tuple[str, ...]:
    values = (
        one.precision,
        one.recall,
        one.f1,
        one.over_segmentation,
        one.under_segmentation,
        one.mean_iou,
        one.f1_at_50,
    )
    return (name, str(one.num_demos), *(f"{value:.2f}" for value in values))


def _stages(name: str) -> dict[str, TaskStages]:
    return read_stages(name)
