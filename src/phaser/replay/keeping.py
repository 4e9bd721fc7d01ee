"""The end of a task: its frames are stored, and what the rules of its method leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.demonstration import FrameRef
from phaser.core.streams import Streams
from phaser.memory.store import Addition, Store
from phaser.methods.method import Method
from phaser.replay.choosing import Choice
from phaser.replay.columns import say
from phaser.replay.loop_policy import LoopPolicy, UserFrames
from phaser.replay.penalised import PenalisedTask
from phaser.replay.recording import Recording
from phaser.replay.stored_samples import StoredSamples
from phaser.replay.telling import Telling
from phaser.replay.tensors import to_arrays, to_tensors


def keep_frames(
    choice: Choice, penalised: PenalisedTask | None, folder: Path | str, tell: Telling
) -> None:
    """Store the chosen frames; what gives way is decided by what the memory holds by then.

    Args:
        choice: the frames to store.
        penalised: the policy's part, for methods that need it.
        folder: where the memory is.
        tell: says how many frames were stored.
    """
    num_frames = 0

    def state(kept: Sequence[FrameRef]) -> dict[str, np.ndarray] | None:
        if penalised is None:
            return None
        return to_arrays(penalised.after(frames=choice.all_frames(), kept=kept)) or None

    def plan(now: Store) -> Addition:
        nonlocal num_frames
        addition = choice(now)
        kept = [ref for bucket in addition.new.buckets for ref in bucket.frames]
        num_frames = len(kept)
        return replace(addition, state=state(kept))

    store = Store.open(folder)
    if choice.method.keep.keeps_frames:
        store.add_planned(plan, choice.codec, waiting=say)
    elif left := state([]):
        store.put_state(left)
    tell.kept(num_frames)


def penalised_task(
    method: Method,
    policy: LoopPolicy,
    name: str,
    recording: Recording,
    stored: StoredSamples,
    *,
    seed: int,
) -> PenalisedTask:
    """The policy's part of a task, for methods that need it."""

    def read(refs: Sequence[FrameRef]) -> list[Any]:
        return [
            recording.sample(ref) if ref.task == name else stored.read([ref])[0] for ref in refs
        ]

    return PenalisedTask(
        method=method,
        policy=policy,
        state=to_tensors(stored.store.state(), like=policy.device),
        frames=UserFrames(read),
        streams=Streams(seed),
        name=name,
    )
