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
from phaser.core.memory import Memory, PreparedTask
from phaser.core.ports import Segmenter, VirtualStep
from phaser.memory.store import Store
from phaser.methods.method import Method
from phaser.phases.annotated import stages_of
from phaser.phases.autopc import AutoPC
from phaser.replay.columns import Columns
from phaser.replay.encoding import Encoders, check_comparable, without_encoders
from phaser.replay.recording import Recording
from phaser.replay.samples import user_form
from phaser.routing.adaptive import Adaptive
from phaser.routing.by_loss import ByLoss
from phaser.routing.max_interference import MaxInterference
from phaser.routing.routed import Routed

SampleProbe = Callable[[list[Any]], Sequence[float] | Float[np.ndarray, "count"]]
"""Losses of a list of samples under the policy as it is, one number each."""

PROBE_BATCH = 64
NO_VIRTUAL_STEPS = (
    "this method draws by the outcome of virtual steps, for which a memory would have to train "
    "your policy; use it with `phaser run`, or another method here (phaser, er, loss-aware)"
)


def segmenter_for(phases: Segmenter | Path | str | None, task: Task, method: Method) -> Segmenter:
    """As told; a stage_info.json is looked up by the task's name, then by its instruction."""
    if phases is None:
        return AutoPC(boundaries=method.boundaries)
    if not isinstance(phases, Path | str):
        return phases
    found = stages_of(Path(phases), task)
    return found.episode_segmenter() if found.episodes else found.segmenter()


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
    if isinstance(method.draw, Routed | Adaptive):
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
    )


def check_probe(method: Method, probe: SampleProbe | None) -> None:
    """Refuse a method that has to ask the policy where nobody would answer."""
    if isinstance(method.draw, MaxInterference):
        raise BadInput(NO_VIRTUAL_STEPS)
    if probe is None and isinstance(method.draw, ByLoss | Adaptive):
        raise BadInput(
            "this method draws by loss and has to ask the policy; pass Replay(…, probe=losses), "
            "a function from a list of samples to one number each"
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StoredFrameProbe:
    """The user's probe of samples as one of stored frames (`core.ports.Probe`)."""

    store: Store
    losses: SampleProbe | None

    def __call__(self, refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
        if self.losses is None:
            raise BadInput("there is no policy to ask; pass Replay(…, probe=losses)")
        parts = []
        for start in range(0, len(refs), PROBE_BATCH):
            stored = self.store.read(refs[start : start + PROBE_BATCH])
            samples = [user_form(one) for one in stored]
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
        raise BadInput(NO_VIRTUAL_STEPS)
