"""The rule for the draws of a task that begins, and the policy's part where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phaser.core.memory import PreparedTask
from phaser.core.ports import Sampler
from phaser.core.streams import Streams
from phaser.replay.keeping import penalised_task
from phaser.replay.penalised import PenalisedTask
from phaser.replay.preparing import StoredFrameProbe
from phaser.replay.recording import Recording
from phaser.replay.stored_samples import StoredSamples
from phaser.replay.tensors import collated

if TYPE_CHECKING:
    from phaser.replay.replay import Replay


def drawing(
    replay: Replay, prepared: PreparedTask, recording: Recording, stored: StoredSamples
) -> tuple[PenalisedTask | None, Sampler]:
    """Score what is stored against a new task, once.

    Args:
        replay: the settings of the memory.
        prepared: phases and prototypes of the new task.
        recording: the new task's demonstrations.
        stored: what the memory holds.
    """
    penalised, name = None, prepared.task.name
    if replay.policy is not None:
        replay.policy.collate = replay.collate or collated
        penalised = penalised_task(
            replay.rules, replay.policy, name, recording, stored, seed=replay.seed
        )
    probe = StoredFrameProbe(
        stored=stored, losses=replay.probe, penalised=penalised, num_steps=replay.steps_per_task
    )
    stream = Streams(replay.seed).named("draw", name)
    memory = stored.store.memory
    return penalised, replay.rules.draw.for_task(memory, prepared, stream, probe)
