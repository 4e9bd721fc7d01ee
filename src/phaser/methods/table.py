"""The methods by name. A method is one entry; its settings live in its rules."""

from __future__ import annotations

from phaser.core.tables import Table
from phaser.memory.even import Even
from phaser.memory.herding import Herding
from phaser.memory.nothing import Nothing
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.reservoir import Reservoir
from phaser.methods.dark import Dark
from phaser.methods.distill import Distil
from phaser.methods.elastic import Elastic
from phaser.methods.imagined import Imagined
from phaser.methods.method import Method
from phaser.methods.projected import Projected
from phaser.phases.autopc import PAPER_SEGMENTER
from phaser.routing.adaptive import Adaptive
from phaser.routing.balanced import Balanced
from phaser.routing.by_loss import ByLoss
from phaser.routing.finding import Finding
from phaser.routing.max_interference import MaxInterference
from phaser.routing.nothing import NoDraw
from phaser.routing.routed import Routed
from phaser.routing.uniform import Uniform

_PAPER_ROUTING = Routed(
    temperature=0.25,
    language_share=0.5,
    redundancy_penalty=0.5,
    over_current_phases="mean",
    uniform_share=0.0,
    centre_vision=False,
    motion_only=False,
    normalise_actions=True,
)

_BESIDE = Imagined(share=0.3, copies=5, state_noise=0.2, image_shift=0.0, asked_share=0.0)

_OWN = (
    Method(
        name="sequential",
        keep=Nothing(),
        draw=NoDraw(),
        summary="fine-tunes on each task in turn and rehearses nothing: the lower bound",
    ),
    Method(
        name="er",
        keep=Reservoir(),
        draw=Uniform(),
        summary="experience replay: keeps frames at random, rehearses all alike",
    ),
    Method(
        name="er-even",
        keep=Even(),
        draw=Uniform(),
        summary="keeps frames spread evenly over task progress: the control phaser must beat",
    ),
    Method(
        name="er-routed",
        keep=Reservoir(),
        draw=Routed(),
        summary="keeps frames at random, rehearses phases that the new task endangers",
    ),
    Method(
        name="er-routed-paper",
        keep=Reservoir(),
        draw=_PAPER_ROUTING,
        summary="er-routed with the paper's literal routing",
    ),
    Method(
        name="phase-only",
        keep=PhaseBuckets(within="random"),
        draw=Uniform(),
        summary="keeps equally many frames per phase, rehearses all alike",
    ),
    Method(
        name="phase-even",
        keep=PhaseBuckets(within="even"),
        draw=Uniform(),
        summary="phaser without routing: keeps as phaser does, rehearses all alike",
    ),
    Method(
        name="phaser",
        keep=PhaseBuckets(within="even"),
        draw=Routed(),
        summary="keeps equally many frames per phase, rehearses phases the new task endangers",
    ),
    Method(
        name="phaser-floor",
        keep=PhaseBuckets(within="even", shares="floor"),
        draw=Routed(over_current_phases="closest", weigh_by_size=True),
        summary="phaser between equal and proportional shares: a floor for every phase, the rest "
        "by length",
    ),
    Method(
        name="phaser-paper",
        keep=PhaseBuckets(within="random", stride=3),
        draw=_PAPER_ROUTING,
        segmenter=PAPER_SEGMENTER,
        summary="phaser with the paper's literal choices",
    ),
    Method(
        name="phaser-spread",
        keep=PhaseBuckets(within="spread"),
        draw=Routed(),
        summary="phaser whose frames of a phase are as unlike each other as possible",
    ),
    Method(
        name="phaser-herding",
        keep=PhaseBuckets(within="herding"),
        draw=Routed(),
        summary="phaser whose frames of a phase have a mean closest to the phase's own",
    ),
    Method(
        name="phaser-boundary",
        keep=PhaseBuckets(within="boundary"),
        draw=Routed(),
        summary="phaser whose frames of a phase are denser where the phase changes",
    ),
    Method(
        name="er-balanced",
        keep=Reservoir(),
        draw=Balanced(),
        summary="keeps frames at random, rehearses all tasks alike, then their frames",
    ),
    Method(
        name="mir",
        keep=Reservoir(),
        draw=MaxInterference(),
        summary="keeps frames at random, rehearses those that a virtual step damages most; scored "
        "as often per task as in the paper's runs",
    ),
    Method(
        name="mir-snapshot",
        keep=Reservoir(),
        draw=MaxInterference(variant="snapshot"),
        summary="mir whose virtual step repeats the gradient of the step before, for free",
    ),
    Method(
        name="mir-original",
        keep=Reservoir(),
        draw=MaxInterference(every_step=True, num_candidates=64, num_cached=32),
        summary="mir that scores anew at every step, as it was first published",
    ),
    Method(
        name="loss-aware",
        keep=Even(),
        draw=ByLoss(level="task"),
        summary="er-even that rehearses tasks by the loss measured on them when a task begins",
    ),
    Method(
        name="loss-aware-phases",
        keep=PhaseBuckets(within="even"),
        draw=ByLoss(level="phase"),
        summary="phaser that rehearses phases by the loss measured on them, not by a forecast",
    ),
    Method(
        name="phaser-adaptive",
        keep=PhaseBuckets(within="even"),
        draw=Adaptive(),
        summary="phaser whose forecast gives way to the losses measured as a task is learnt",
    ),
    Method(
        name="zero-budget",
        keep=PhaseBuckets(within="even", zero_phase=0),
        draw=Routed(),
        summary="phaser whose first phase keeps nothing, its frames given to the others: a control",
    ),
    Method(
        name="zero-budget-paper",
        keep=PhaseBuckets(within="random", stride=3, zero_phase=0),
        draw=_PAPER_ROUTING,
        segmenter=PAPER_SEGMENTER,
        summary="phaser-paper whose first phase keeps nothing: the paper's control",
    ),
    Method(
        name="icarl",
        keep=Herding(),
        draw=Uniform(),
        penalty=Distil(),
        summary="keeps frames near the task's mean, and its old policy's features on them",
    ),
    Method(
        name="der",
        keep=Reservoir(),
        draw=Uniform(),
        penalty=Dark(),
        summary="dark experience replay: acts on kept frames as it did when it kept them",
    ),
    Method(
        name="agem",
        keep=Reservoir(),
        draw=Uniform(),
        penalty=Projected(),
        summary="A-GEM: never steps against the gradient of the kept frames",
    ),
    Method(
        name="ewc",
        keep=Nothing(),
        draw=NoDraw(),
        penalty=Elastic(),
        summary="keeps no frame, holds the weights that earlier tasks need most",
    ),
    Method(
        name="er-imagined",
        keep=Even(),
        draw=Uniform(),
        rehearse=Imagined(),
        summary="er-even that also rehearses what the policy itself did beside its frames",
    ),
    Method(
        name="phase-imagined",
        keep=PhaseBuckets(within="even"),
        draw=Uniform(),
        rehearse=_BESIDE,
        summary="phase-even that also rehearses stored images with other states",
    ),
    Method(
        name="phaser-imagined",
        keep=PhaseBuckets(within="even", shares="root"),
        draw=Finding(),
        rehearse=Imagined(),
        summary="rehearses most the phases that find the object, and what the policy did itself",
    ),
    Method(
        name="joint",
        keep=Nothing(),
        draw=NoDraw(),
        joint=True,
        summary="trains on all tasks at once: the upper bound",
    ),
)

METHODS: Table[Method] = Table(
    kind="method", group="phaser.methods", own={one.name: one for one in _OWN}
)
"""All methods: ours, and those that installed packages add."""


def method(name: str) -> Method:
    """The method of that name, or the nearest names that exist."""
    return METHODS.require(name)
