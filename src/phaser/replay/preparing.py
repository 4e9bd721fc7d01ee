"""From a recording to what a method may see of a task: phases and their prototypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import FrameRef, Task
from phaser.core.errors import BadInput
from phaser.core.extras import libraries_for
from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Segmenter, VirtualStep
from phaser.core.segmentation import Segmentation
from phaser.methods.method import Method
from phaser.phases.annotated import Annotated, annotations_of
from phaser.phases.in_datasets import IN_DATASET, annotation_of
from phaser.replay.columns import Columns
from phaser.replay.encoding import Encoders, check_comparable, without_encoders
from phaser.replay.loop_policy import LoopPolicy
from phaser.replay.nested_datasets import innermost
from phaser.replay.penalised import PenalisedTask
from phaser.replay.recording import Recording
from phaser.replay.stored_samples import StoredSamples

SampleProbe = Callable[[list[Any]], Sequence[float] | Float[np.ndarray, "count"]]
"""Losses of a list of samples under the policy as it is, one number each."""

PROBE_BATCH = 64


def segmenter_for(
    phases: Segmenter | Path | str | None,
    task: Task,
    method: Method,
    recording: Recording | None = None,
) -> Segmenter:
    """The given segmenter, the task's annotation in a file or in the dataset, or the method's own
    segmenter."""
    if phases is None:
        return method.segmenter
    if not isinstance(phases, Path | str):
        return phases
    if phases == IN_DATASET:
        annotation = annotation_of(task.name, _phases_of(recording, task))
    else:
        (annotation,) = annotations_of(phases, [task])
    return Annotated(annotation=annotation, segmenter=method.segmenter)


def _phases_of(recording: Recording | None, task: Task) -> dict[int, Segmentation]:
    """The phases that the dataset of a recording carries, of the recording's episodes."""
    held = list(innermost(recording.samples)) if recording else []
    root = getattr(held[0], "root", None) if len(held) == 1 else None
    if recording is None or root is None:
        kind = type(recording.samples).__name__ if recording else "list of demonstrations"
        raise BadInput(
            "phases='dataset' reads them from the folder of one LeRobot dataset, but "
            f"{task.name!r} is a {kind} without a root; give a stage_info.json or a segmenter"
        )
    with libraries_for("phases in a dataset"):
        from phaser.phases.lerobot_phases import read_phases
    found = read_phases(Path(root))
    return {demo.index: found[demo.index] for demo in recording.demos if demo.index in found}


def prepare(
    recording: Recording,
    task: Task,
    *,
    segmenter: Segmenter,
    method: Method,
    encoders: Encoders,
    columns: Columns,
    memory: Memory,
) -> PreparedTask:
    """Cut the demonstrations; describe the phases where the method compares them."""
    segmentations = segmenter.segment(recording.demos)
    if method.draw.needs_prototypes:
        prototypes = encoders.prototypes(
            recording, segmentations, instruction=task.instruction, columns=columns
        )
        check_comparable(memory, prototypes)
    else:
        prototypes = without_encoders(recording, segmentations)
    return PreparedTask(
        task=task,
        demos=recording.demos,
        segmentations=segmentations,
        prototypes=prototypes,
        features=encoders.features(recording, columns) if method.keep.needs_features else None,
    )


def check_probe(method: Method, probe: SampleProbe | None, policy: LoopPolicy | None) -> None:
    """Refuse a method that has to ask the policy where nobody would answer."""
    if probe is None and policy is None and method.draw.needs_losses:
        raise BadInput(
            "this method draws by loss and has to ask the policy; pass Replay(…, probe=losses), "
            "a function from a list of samples to one number each"
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StoredFrameProbe:
    """The user's probe of samples as one of stored frames (`core.ports.Probe`)."""

    stored: StoredSamples
    losses: SampleProbe | None
    penalised: PenalisedTask | None = None
    """The policy, where it was given."""
    num_steps: int | None = None

    def __call__(self, refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
        if self.losses is None and self.penalised is not None:
            starts = range(0, len(refs), PROBE_BATCH)
            found = [self.penalised.losses(refs[at : at + PROBE_BATCH]) for at in starts]
            return np.concatenate(found) if found else np.zeros(0)
        if self.losses is None:
            raise BadInput("there is no policy to ask; pass Replay(…, probe=losses)")
        parts = []
        for start in range(0, len(refs), PROBE_BATCH):
            samples = self.stored.read(refs[start : start + PROBE_BATCH])
            parts.append(np.asarray(self.losses(samples), dtype=np.float64))
        return np.concatenate(parts) if parts else np.zeros(0)

    def interference(
        self,
        refs: Sequence[FrameRef],
        *,
        step: int,
        learning_rate: float,
        variant: VirtualStep = "virtual",
    ) -> Float[np.ndarray, "count"]:
        if self.penalised is None:
            raise BadInput("a virtual step needs your policy; pass Replay(…, policy=LoopPolicy(…))")
        return self.penalised.interference(
            refs, step=step, learning_rate=learning_rate, variant=variant
        )
