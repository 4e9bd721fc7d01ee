"""What is looked at when a task begins, beyond its budget: one line is worth hours of training."""

from __future__ import annotations

from typing import Any

from phaser.core.errors import BadInput
from phaser.core.memory import PreparedTask
from phaser.core.segmentation import phase_names
from phaser.methods.method import Method
from phaser.replay.choosing import Choice
from phaser.replay.columns import say
from phaser.replay.image_transforms import Augmentation, say_if_random
from phaser.replay.mixing import mixed
from phaser.replay.stored_samples import StoredSamples
from phaser.replay.task import Collate
from phaser.replay.tensors import collated


def say_if_one_phase(task: PreparedTask, method: Method) -> None:
    """A method of phases with a single one is no method of phases; nothing else would show it."""
    uses_phases = method.keep.shares_equally or method.draw.needs_prototypes
    if not uses_phases or len(phase_names(task.segmentations)) > 1:
        return
    layout = task.demos[0].layout
    mend = (
        "annotate its phases (phases='stage_info.json')"
        if layout.convention == "absolute"
        else "if its actions are targets, such as joint angles, say so: ActionLayout(…, "
        "convention='absolute')"
    )
    say(
        f"task {task.task.name!r} has one single phase in {len(task.demos)} demonstrations, so "
        f"there is nothing to divide the budget by; {mend}"
    )


def check_answers(
    choice: Choice,
    stored: StoredSamples,
    collate: Collate | None,
    augmentation: Augmentation | None,
    *,
    share: float,
) -> None:
    """Refuse what could not be kept at the end, or not mixed with stored samples on the way.

    choice: the frames that will be kept; every one of them is read once.
    share: how much of a batch will be replaced; with 0 nothing is mixed.
    """
    ref = choice.check(stored.store)
    if ref is None:
        return
    row = choice.recording.row(ref)
    say_if_random(choice.recording.samples, row)
    if share and stored.store.num_frames:
        last = stored.store.memory.buckets[-1]
        samples = [choice.recording.samples[row], *stored.read(last.frames[:1])]
        current, old = augmentation(samples, step=0) if augmentation else samples
        _check_mixable(current, old, collate, names=(choice.task.task.name, last.phase.task))


def _check_mixable(
    current: Any, stored: Any, collate: Collate | None, *, names: tuple[str, str]
) -> None:
    """Refuse a task whose batches could not take stored samples, as the first `mix` would."""
    make = collate or collated
    try:
        batch, rehearsed = make([current, current]), make([stored])
    except Exception:
        # Samples that nobody told how to collate come in lists, and lists take anything.
        return
    try:
        mixed(batch, rehearsed, size=2, count=1)
    except BadInput as error:
        raise BadInput(
            f"samples of task {names[0]!r} cannot be mixed with those of the stored task "
            f"{names[1]!r}: {error}; open both datasets alike (image type and size, keys, chunks), "
            "or rehearse beside the batch with task.sample: Replay(…, rehearsed_share=0)"
        ) from error
