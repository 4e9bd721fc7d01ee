"""The tables of adapters and rules by name: what files, flags and listings know.

`experiments/` is the one place that names adapters. Other packages add their own by entry points
(`core/tables.py`): `phaser.policies`, `phaser.suites`, `phaser.rules`, `phaser.methods`.
"""

from __future__ import annotations

import inspect
from typing import Any

from phaser.core.policy import PolicySettings
from phaser.core.ports import Draw, Keep, Segmenter
from phaser.core.suite import Suite
from phaser.core.tables import Table
from phaser.methods.penalty import PenaltyRule
from phaser.methods.rehearse import RehearseRule

RULES = "phaser.rules"
"""One group of entry points feeds the tables of all rules; a rule's shape tells its kind."""


def _has(*names: str) -> Any:
    return lambda entry: all(hasattr(entry, name) for name in names)


def _rehearses(entry: Any) -> bool:
    if not hasattr(entry, "for_task"):
        return False
    return "begun" in inspect.signature(entry.for_task).parameters


KEEPS: Table[type[Keep]] = Table(
    kind="keep rule",
    group=RULES,
    own={
        "Nothing": "phaser.memory.nothing:Nothing",
        "Reservoir": "phaser.memory.reservoir:Reservoir",
        "Even": "phaser.memory.even:Even",
        "Herding": "phaser.memory.herding:Herding",
        "PhaseBuckets": "phaser.memory.phase_buckets:PhaseBuckets",
    },
    accepts=_has("select"),
)
DRAWS: Table[type[Draw]] = Table(
    kind="draw rule",
    group=RULES,
    own={
        "NoDraw": "phaser.routing.nothing:NoDraw",
        "Uniform": "phaser.routing.uniform:Uniform",
        "Balanced": "phaser.routing.balanced:Balanced",
        "Finding": "phaser.routing.finding:Finding",
        "Routed": "phaser.routing.routed:Routed",
        "Adaptive": "phaser.routing.adaptive:Adaptive",
        "ByLoss": "phaser.routing.by_loss:ByLoss",
        "MaxInterference": "phaser.routing.max_interference:MaxInterference",
    },
    accepts=lambda entry: hasattr(entry, "for_task") and not hasattr(entry, "after_task"),
)
REHEARSALS: Table[type[RehearseRule]] = Table(
    kind="rehearse rule",
    group=RULES,
    own={
        "AsStored": "phaser.methods.rehearse:AsStored",
        "Imagined": "phaser.methods.imagined:Imagined",
    },
    accepts=lambda entry: hasattr(entry, "after_task") and _rehearses(entry),
)
PENALTIES: Table[type[PenaltyRule]] = Table(
    kind="penalty",
    group=RULES,
    own={
        "NoPenalty": "phaser.methods.no_penalty:NoPenalty",
        "Distil": "phaser.methods.distill:Distil",
        "Dark": "phaser.methods.dark:Dark",
        "Projected": "phaser.methods.projected:Projected",
        "Elastic": "phaser.methods.elastic:Elastic",
    },
    accepts=lambda entry: hasattr(entry, "after_task") and not _rehearses(entry),
)
SEGMENTERS: Table[type[Segmenter]] = Table(
    kind="segmenter",
    group=RULES,
    own={"AutoPC": "phaser.phases.autopc:AutoPC"},
    accepts=_has("segment"),
)
POLICIES: Table[type[PolicySettings]] = Table(
    kind="policy",
    group="phaser.policies",
    own={
        "tiny": "phaser.policies.tiny.settings:Tiny",
        "openvla-oft": "phaser.policies.openvla_oft.settings:OpenVlaOft",
        "qwen-gr00t": "phaser.policies.qwen_gr00t.settings:QwenGr00t",
        "qwen-oft": "phaser.policies.qwen_oft.settings:QwenOft",
        "lerobot": "phaser.policies.lerobot.settings:LeRobot",
    },
)
SUITES: Table[type[Suite]] = Table(
    kind="suite",
    group="phaser.suites",
    own={
        "metaworld": "phaser.suites.metaworld.suite:MetaWorld",
        "libero": "phaser.suites.libero.suite:Libero",
        "datasets": "phaser.suites.datasets.suite:Datasets",
    },
)

TABLES: dict[type[Any], Table[Any]] = {
    Keep: KEEPS,
    Draw: DRAWS,
    RehearseRule: REHEARSALS,
    PenaltyRule: PENALTIES,
    Segmenter: SEGMENTERS,
    PolicySettings: POLICIES,
    Suite: SUITES,
}
"""The table of every port that a setting may hold."""
