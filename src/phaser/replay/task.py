"""One task while it is learnt: mixes rehearsed samples into its batches, and is kept at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput, NotKept
from phaser.core.locks import Shared
from phaser.core.memory import PhaseId
from phaser.core.ports import Sampler
from phaser.memory.store import Store
from phaser.replay.ahead import ReadAhead
from phaser.replay.image_transforms import Augmentation
from phaser.replay.mixing import batch_size, mixed, num_rehearsed
from phaser.replay.penalised import Backward, PenalisedTask
from phaser.replay.ranks import Ranks
from phaser.replay.stored_samples import StoredSamples
from phaser.replay.tensors import collated

Collate = Callable[[list[Any]], Any]
_ELSEWHERE = (
    "a task draws in the process that began it, not in a loader's workers, whose draws nobody "
    "would count; take it out of the dataset or collate_fn and mix in the training loop: "
    "batch = task.mix(batch)"
)
Drawn = tuple[list[FrameRef], list[Any]]
"""Frames and their samples."""


@dataclass(kw_only=True, slots=True, eq=False)
class ReplayTask:
    """What `Replay.task` gives. The samples of a step depend on (seed, task, step, world size)."""

    name: str
    seed: int
    sampler: Sampler
    stored: StoredSamples
    """The memory as it was when the task began."""
    reading: Shared
    """Keeps its files there until the task ends, whatever other processes keep meanwhile."""
    share: float
    collate: Collate | None
    ranks: Ranks
    keep: Callable[[], None]
    """Stores the task's frames; called once, by `finish`."""
    penalised: PenalisedTask | None = None
    """The policy's part, for methods that need it."""
    step: int = 0
    """How many draws were made; set it to resume."""
    read_ahead: bool = True
    augmentation: Augmentation | None = None
    """The image transforms of the task's dataset, which stored frames go through as well."""
    _process: int = field(default_factory=os.getpid, init=False)
    """Whoever began the task counts its steps."""
    _finished: bool = field(default=False, init=False)
    _had_room: bool = field(default=False, init=False)
    _some_sample: Any = field(default=None, init=False)
    _alone: dict[bool, Any] = field(default_factory=dict, init=False)
    """A batch of that one sample, by whether batches come as lists of samples."""
    _ahead: ReadAhead = field(init=False)
    _drawn: Sequence[FrameRef] = field(default=(), init=False)
    """The frames of the last draw, and their samples."""
    _drawn_samples: list[Any] = field(default_factory=list, init=False)

    @property
    def store(self) -> Store:
        """The memory on disk as it was when the task began."""
        return self.stored.store

    def __post_init__(self) -> None:
        self._ahead = ReadAhead(read=self._read_step)

    def mix(self, batch: Any) -> Any:
        """The batch with its last samples replaced by rehearsed ones; unchanged on a first task.

        Takes what the loader gives, collated or a list of samples, and gives back the same form,
        size and device. No forward pass.
        """
        if self.penalised is not None:
            self.penalised.current = batch
        if not self.num_stored:
            self._draw(0)
            return batch
        is_list = self._is_list_of_samples(batch)
        if is_list not in self._alone:
            self._alone[is_list] = self._collated([self._example()], is_list=is_list)
        size = batch_size(batch, self._alone[is_list])
        count = num_rehearsed(size, self.share)
        samples = self._draw(count)
        if not samples:
            self._check_room(size)
            return batch
        self._had_room = True
        return mixed(batch, self._collated(samples, is_list=is_list), size=size, count=count)

    def backward(self, batch: Any, *, backward: Backward | None = None) -> Any:
        """Mix the batch, and leave the gradient of its loss under the method's penalty.

        Takes the place of `policy(task.mix(batch)).loss.backward()` where Replay was given the
        policy; returns the mean loss. The optimiser's step stays yours.

        backward: what turns a loss into gradients, if not its own method (`accelerator.backward`).
        """
        if self.penalised is None:
            raise BadInput(
                "task.backward needs your policy: pass Replay(…, policy=LoopPolicy(model, …)); "
                "methods that only mix batches need task.mix alone"
            )
        step = self.step
        whole = self.mix(batch)
        loss = self.penalised.backward(
            whole,
            rehearsed=self._drawn,
            samples=self._drawn_samples,
            step=step,
            backward=backward or _own_backward,
        )
        self.sampler.after_step(step)
        return loss.detach()

    def sample(self, count: int) -> Any:
        """That many rehearsed samples: a list, or a batch where Replay was given `collate`.

        An empty list on a first task, when nothing is stored yet.
        """
        samples = self._draw(count)
        return self.collate(samples) if self.collate and samples else samples

    @property
    def num_stored(self) -> int:
        """Frames of earlier tasks that can be rehearsed."""
        return self.store.num_frames

    def weights(self) -> dict[PhaseId, float]:
        """How likely a draw comes from each stored phase."""
        shares: Float[np.ndarray, "buckets"] = self.sampler.weights()
        buckets = self.store.memory.buckets
        return {
            bucket.phase: float(share)
            for bucket, share in zip(buckets, shares, strict=len(shares) > 0)
        }

    def state_dict(self) -> dict[str, Any]:
        """For a checkpoint: JSON, and enough to go on with the same draws."""
        state: dict[str, Any] = {"task": self.name, "seed": self.seed, "step": self.step}
        if self.sampler.measured is not None:
            steps, answers = self.sampler.measured.arrays()
            state["measured"] = {"steps": steps.tolist(), "answers": answers.tolist()}
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        mine = self.state_dict()
        for key in ("task", "seed"):
            if state.get(key) != mine[key]:
                raise BadInput(
                    f"the state is of {key} {state.get(key)!r}, this is {mine[key]!r}; "
                    "resume the same task with the same seed"
                )
        self.step = int(state["step"])
        found = state.get("measured")
        if self.sampler.measured is not None and found and found["steps"]:
            self.sampler.measured.restore(np.array(found["steps"]), np.array(found["answers"]))

    def finish(self) -> None:
        """Keep the task's frames, as leaving the `with` block does; a second call does nothing."""
        if not self._finished:
            self._ahead.close()
            self.reading.close()
            self.keep()
            self._finished = True

    def __reduce__(self) -> NoReturn:
        """Spawned workers get their collate function as a copy: a task has none."""
        raise BadInput(_ELSEWHERE)

    def __enter__(self) -> ReplayTask:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self._finish_or_say_how()
        # After an error, what was learnt of the task is unknown: nothing of it is kept.
        self._finished = True
        self._ahead.close()
        self.reading.close()

    def _finish_or_say_how(self) -> None:
        """After hours of training, an error at the very end must not cost them."""
        try:
            self.finish()
        except Exception as error:
            raise NotKept(
                f"task {self.name!r} was learnt, but its frames could not be kept: {error}; the "
                "memory is as it was before. Mend that and call task.finish() while this process "
                "lives: it keeps what was chosen, without training again"
            ) from error

    def _is_list_of_samples(self, batch: Any) -> bool:
        """Without a collate function a list may be samples as they are, or a collated tuple."""
        as_they_are = isinstance(batch, list) and bool(batch)
        return self.collate is None and as_they_are and type(batch[0]) is type(self._example())

    def _collated(self, samples: list[Any], *, is_list: bool) -> Any:
        return samples if is_list else (self.collate or collated)(samples)

    def _example(self) -> Any:
        """Some stored sample, read once: its form tells what a batch of such samples looks like."""
        if self._some_sample is None:
            sample = self.stored.read(self.store.memory.buckets[0].frames[:1])
            self._some_sample = self._augmented(sample, step=0)[0]
        return self._some_sample

    def _draw(self, count: int) -> list[Any]:
        """The samples of this step; counts as a step also where there are none."""
        if self._finished:
            raise BadInput(f"task {self.name!r} is finished; draw inside its `with` block")
        if os.getpid() != self._process:
            raise BadInput(_ELSEWHERE)
        step, self.step = self.step, self.step + 1
        # Only draws by fixed weights can be made before their step, or left out.
        is_pure = self.sampler.is_fixed
        self._drawn, self._drawn_samples = (), []
        if not self.num_stored or (is_pure and not count):
            return []
        read = self._ahead if self.read_ahead and is_pure else self._read_step
        self._drawn, kept = read(step, count)
        samples = self.stored.content(self._drawn, kept)
        self._drawn_samples = self._augmented(samples, step=step)
        return self._drawn_samples

    def _read_step(self, step: int, count: int) -> Drawn:
        everywhere = self.sampler.next_distinct(count * self.ranks.world_size, step)
        drawn = self.ranks.slice(everywhere)
        return list(drawn), self.stored.kept(drawn)

    def _augmented(self, samples: list[Any], *, step: int) -> list[Any]:
        """Not in the thread that reads ahead: it would draw random numbers beside the loop."""
        return self.augmentation(samples, step=step) if self.augmentation else samples

    def _check_room(self, size: int) -> None:
        """A last batch of one sample passes; a loader that only gives such would rehearse never."""
        if size == 1 and self.share and not self._had_room:
            raise BadInput(
                "a batch of 1 has no room for rehearsed samples; use batches of 2 or more, "
                "or rehearse beside the batch: task.sample(1)"
            )


def _own_backward(loss: Any) -> None:
    loss.backward()
