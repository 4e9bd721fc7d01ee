"""How far carried boundaries lie from the true ones of held-out demonstrations."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from benchmarks.stage_truth import Example, TaskExamples, segmentation
from phaser.core.demonstration import Demo
from phaser.phases.agreement import agreement
from phaser.phases.align import Alignment
from phaser.phases.autopc import AutoPC
from phaser.phases.representative import representative
from phaser.phases.signals import PAPER_RULES
from phaser.phases.transfer import Placed, by_ratio

Carry = Callable[[Demo, Sequence[int], Demo], Sequence[int]]
TOLERANCE = 5
# The best of five on the tasks to choose on, as in the table of rules.
PAPER_MIN_SCORE = 0.15


def ratio(reference: Demo, boundaries: Sequence[int], demo: Demo) -> list[int]:
    ratios = [step / reference.num_frames for step in boundaries]
    return by_ratio(ratios, num_frames=demo.num_frames, min_phase_frames=1)


def aligned(reference: Demo, boundaries: Sequence[int], demo: Demo) -> list[int]:
    return [one.step for one in _placed(reference, boundaries, demo)]


CARRIES: dict[str, Carry] = {"ratio (the paper)": ratio, "events (ours)": aligned}
WHOLE = {
    "Auto-PC": AutoPC(),
    "Auto-PC, by ratio": AutoPC(boundaries="ratio"),
    "the paper's score and ratios": AutoPC(
        boundaries="ratio", signals=PAPER_RULES, min_score=PAPER_MIN_SCORE
    ),
}


def carried_errors(tasks: Sequence[TaskExamples], style: str) -> dict[str, dict[str, float]]:
    """The representative's true boundaries, carried; steps to the true place of the same event."""
    found = {}
    for name, carry in CARRIES.items():
        errors = np.concatenate([_errors(*_split(task, style), carry) for task in tasks])
        found[name] = {
            "mean_error": float(errors.mean()),
            "median_error": float(np.median(errors)),
            "within_5": float((errors <= TOLERANCE).mean()),
            "num_boundaries": len(errors),
        }
    return found


def event_share(tasks: Sequence[TaskExamples], style: str) -> float:
    """Share of carried boundaries that an event placed, not the ratio."""
    sources = [
        one.source
        for reference, heldout in (_split(task, style) for task in tasks)
        for example in heldout
        for one in _placed(reference.demo, reference.boundaries, example.demo)
    ]
    return sources.count("event") / len(sources)


def whole_agreement(tasks: Sequence[TaskExamples], style: str) -> dict[str, dict[str, float]]:
    """Auto-PC from end to end: one set of phases per task, in all its demonstrations."""
    found = {}
    for name, settings in WHOLE.items():
        pairs = []
        for task in tasks:
            those: tuple[Example, ...] = getattr(task, style) + getattr(task, f"{style}_heldout")
            cut = settings.segment([one.demo for one in those])
            pairs += [
                (segmentation(one.boundaries, one.num_frames), example.truth)
                for one, example in zip(cut, those, strict=True)
            ]
        found[name] = agreement(pairs, tolerance=TOLERANCE).to_json()
    return found


def _placed(reference: Demo, boundaries: Sequence[int], demo: Demo) -> tuple[Placed, ...]:
    return Alignment().carry(boundaries, [reference, demo], reference=0)[1]


def _split(task: TaskExamples, style: str) -> tuple[Example, Sequence[Example]]:
    """The representative of the training demonstrations, and the held-out ones."""
    training: tuple[Example, ...] = getattr(task, style)
    chosen = training[representative([one.demo for one in training])]
    return chosen, getattr(task, f"{style}_heldout")


def _errors(
    reference: Example, heldout: Sequence[Example], carry: Carry
) -> Float[np.ndarray, "boundaries"]:
    """Only for events that both demonstrations have; a retry in one has no place in the other."""
    errors: list[int] = []
    for example in heldout:
        true = dict(zip(example.entered, example.boundaries, strict=True))
        steps = carry(reference.demo, reference.boundaries, example.demo)
        for event, step in zip(reference.entered, steps, strict=True):
            if event in true:
                errors.append(abs(step - true[event]))
    return np.array(errors, dtype=np.float64)
