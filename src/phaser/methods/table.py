"""The methods by name. A method is one entry; its settings live in its rules."""

from __future__ import annotations

from phaser.core.errors import UnknownName
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
)

_BESIDE = Imagined(share=0.3, copies=5, state_noise=0.2, image_shift=0.0, asked_share=0.0)

METHODS: dict[str, Method] = {
    "sequential": Method(
        keep=Nothing(),
        draw=NoDraw(),
        summary="fine-tunes on each task in turn and rehearses nothing: the lower bound",
    ),
    "er": Method(
        keep=Reservoir(),
        draw=Uniform(),
        summary="experience replay: keeps frames at random, rehearses all alike",
    ),
    "er-even": Method(
        keep=Even(),
        draw=Uniform(),
        summary="keeps frames spread evenly over task progress: the control phaser must beat",
    ),
    "er-routed": Method(
        keep=Reservoir(),
        draw=Routed(),
        summary="keeps frames at random, rehearses phases that the new task endangers",
    ),
    "phase-only": Method(
        keep=PhaseBuckets(within="random"),
        draw=Uniform(),
        summary="keeps equally many frames per phase, rehearses all alike",
    ),
    "phase-even": Method(
        keep=PhaseBuckets(within="even"),
        draw=Uniform(),
        summary="phaser without routing: keeps as phaser does, rehearses all alike",
    ),
    "phaser": Method(
        keep=PhaseBuckets(within="even"),
        draw=Routed(),
        summary="keeps equally many frames per phase, rehearses phases the new task endangers",
    ),
    "phaser-paper": Method(
        keep=PhaseBuckets(within="random", stride=3),
        draw=_PAPER_ROUTING,
        boundaries="ratio",
        summary="phaser with the paper's literal choices",
    ),
    "phaser-spread": Method(
        keep=PhaseBuckets(within="spread"),
        draw=Routed(),
        summary="phaser whose frames of a phase are as unlike each other as possible",
    ),
    "phaser-herding": Method(
        keep=PhaseBuckets(within="herding"),
        draw=Routed(),
        summary="phaser whose frames of a phase have a mean closest to the phase's own",
    ),
    "phaser-boundary": Method(
        keep=PhaseBuckets(within="boundary"),
        draw=Routed(),
        summary="phaser whose frames of a phase are denser where the phase changes",
    ),
    "er-balanced": Method(
        keep=Reservoir(),
        draw=Balanced(),
        summary="keeps frames at random, rehearses all tasks alike, then their frames",
    ),
    "mir": Method(
        keep=Reservoir(),
        draw=MaxInterference(),
        summary="keeps frames at random, rehearses those that a virtual step damages most",
    ),
    "mir-snapshot": Method(
        keep=Reservoir(),
        draw=MaxInterference(variant="snapshot"),
        summary="mir whose virtual step repeats the gradient of the step before, for free",
    ),
    "mir-original": Method(
        keep=Reservoir(),
        draw=MaxInterference(refresh_every=1, num_candidates=64, num_cached=32),
        summary="mir that scores anew at every step, as it was first published",
    ),
    "loss-aware": Method(
        keep=Even(),
        draw=ByLoss(level="task"),
        summary="er-even that rehearses tasks by the loss measured on them when a task begins",
    ),
    "loss-aware-phases": Method(
        keep=PhaseBuckets(within="even"),
        draw=ByLoss(level="phase"),
        summary="phaser that rehearses phases by the loss measured on them, not by a forecast",
    ),
    "phaser-adaptive": Method(
        keep=PhaseBuckets(within="even"),
        draw=Adaptive(),
        summary="phaser whose forecast gives way to the losses measured as a task is learnt",
    ),
    "zero-budget": Method(
        keep=PhaseBuckets(within="even", zero_phase=0),
        draw=Routed(),
        summary="phaser whose first phase keeps nothing, its frames given to the others: a control",
    ),
    "icarl": Method(
        keep=Herding(),
        draw=Uniform(),
        penalty=Distil(),
        summary="keeps frames near the task's mean, and its old policy's features on them",
    ),
    "der": Method(
        keep=Reservoir(),
        draw=Uniform(),
        penalty=Dark(),
        summary="dark experience replay: acts on kept frames as it did when it kept them",
    ),
    "agem": Method(
        keep=Reservoir(),
        draw=Uniform(),
        penalty=Projected(),
        summary="A-GEM: never steps against the gradient of the kept frames",
    ),
    "ewc": Method(
        keep=Nothing(),
        draw=NoDraw(),
        penalty=Elastic(),
        summary="keeps no frame, holds the weights that earlier tasks need most",
    ),
    "er-imagined": Method(
        keep=Even(),
        draw=Uniform(),
        penalty=Imagined(),
        summary="er-even that also rehearses what the policy itself did beside its frames",
    ),
    "phase-imagined": Method(
        keep=PhaseBuckets(within="even"),
        draw=Uniform(),
        penalty=_BESIDE,
        summary="phase-even that also rehearses stored images with other states",
    ),
    "phaser-imagined": Method(
        keep=PhaseBuckets(within="even", shares="root"),
        draw=Finding(),
        penalty=Imagined(),
        summary="rehearses most the phases that find the object, and what the policy did itself",
    ),
    "joint": Method(
        keep=Nothing(),
        draw=NoDraw(),
        joint=True,
        summary="trains on all tasks at once: the upper bound",
    ),
}


def method(name: str) -> Method:
    """The method of that name, or the nearest names that exist."""
    if name not in METHODS:
        raise UnknownName("method", name, METHODS)
    return METHODS[name]
