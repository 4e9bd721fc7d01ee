"""The ports: what each layer asks of the next.

Rules and adapters implement them by shape. Whoever inherits from a port gets its defaults: a keep
rule is then `select` alone, a sampler `next` and `weights`. Everything that is used of a rule is
stated here, and a rule says itself what it needs; nobody outside asks for its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from phaser.core.demonstration import Demo, FrameRef
from phaser.core.errors import BadInput
from phaser.core.measurements import Measurements, Passes
from phaser.core.memory import Bucket, Memory, PreparedTask
from phaser.core.samples import Samples
from phaser.core.segmentation import Segmentation
from phaser.core.streams import Stream

VirtualStep = Literal["virtual", "snapshot"]
"""Where the gradient of a virtual step comes from: computed for it, or left by the step before."""


@runtime_checkable
class Sizes(Protocol):
    """Encoded bytes of frames that are kept together."""

    def total(self, buckets: Sequence[Bucket], *, stop_above: int | None = None) -> int:
        """Their bytes in all, or any number above `stop_above` as soon as that is certain."""
        ...


@runtime_checkable
class Probe(Protocol):
    """Asks the policy about stored frames, as it is now and without training it."""

    @property
    def num_steps(self) -> int | None:
        """Training steps of the task that begins; None where nobody said."""
        ...

    def __call__(self, refs: Sequence[FrameRef]) -> Float[np.ndarray, "count"]:
        """Loss of each frame, with the same noise whenever the same frames are asked for."""
        ...

    def interference(
        self,
        refs: Sequence[FrameRef],
        *,
        step: int,
        learning_rate: float,
        variant: VirtualStep = "virtual",
    ) -> Float[np.ndarray, "count"]:
        """How much each frame's loss would rise in a virtual step of plain gradient descent.

        Args:
            refs: the stored frames.
            step: the training step whose frames of the current task the virtual step descends on.
            learning_rate: the length of the virtual step.
            variant: "virtual" computes the gradient; "snapshot" takes the one that the training
                step before left.
        """
        ...


@runtime_checkable
class Segmenter(Protocol):
    """Cuts the demonstrations of one task into phases that mean the same in all of them."""

    @property
    def max_phases(self) -> int | None:
        """The most phases that a task can be cut into; None: there is no such number."""
        return None

    def segment(self, demos: Sequence[Demo]) -> tuple[Segmentation, ...]:
        """The phases of each demonstration of a task, told apart by their labels.

        A segmenter that finds phases gives the same labels in the same order to all; where people
        say so, a demonstration may lack a phase or repeat one.
        """
        ...


@runtime_checkable
class Frames(Protocol):
    """The way from references to training samples, whatever holds the frames."""

    def samples(self, refs: Sequence[FrameRef]) -> Samples:
        """The frames in the order asked for; tasks may mix, a frame may come twice."""
        ...


@runtime_checkable
class ImaginedFrames(Frames, Protocol):
    """Frames to which some that were never recorded can be added."""

    def __contains__(self, task: str) -> bool: ...

    def imagine(self, name: str, samples: Samples) -> None:
        """From now on, frames 0, 1, … of a task of that name are the rows of these samples.

        Args:
            name: a task that was never recorded.
            samples: its frames.
        """
        ...

    def join(self, name: str, parts: Sequence[str]) -> None:
        """From now on, a task of that name has the imagined frames of these, one after another.

        Args:
            name: the new task.
            parts: tasks of imagined frames.
        """
        ...


@runtime_checkable
class Keep(Protocol):
    """Chooses what a finished task leaves in memory, within a number of frames."""

    @property
    def keeps_frames(self) -> bool:
        """False for a rule that never keeps any."""
        return True

    @property
    def needs_features(self) -> bool:
        """True for a rule that compares frames by their visual features (`task.features`)."""
        return False

    @property
    def shares_equally(self) -> bool:
        """True for a rule that gives every phase the same share: a certificate then accounts for
        each phase's share, shortfall and what it got of others."""
        return False

    def candidates(self, task: PreparedTask) -> list[int]:
        """How many frames each phase offers, whether or not the rule may take any of it."""
        return [
            sum(len(cut.frames_of(label)) for cut in task.segmentations) for label in task.labels
        ]

    def most(self, task: PreparedTask) -> int:
        """The largest number of frames that the rule can keep of a task."""
        return sum(self.candidates(task))

    def fewest(self, num_phases: int) -> int:
        """The smallest number of frames of a task with so many phases that makes sense."""
        return 1

    def fewest_of(self, buckets: Sequence[Bucket]) -> int:
        """The smallest number of frames to which one stored task may shrink."""
        return 1

    def select(self, task: PreparedTask, num_frames: int, stream: Stream) -> list[Bucket]:
        """Exactly `num_frames` distinct frames of the task, in buckets by phase.

        Args:
            task: the finished task.
            num_frames: how many frames it may leave.
            stream: the source of random numbers, for rules that choose at random.
        """
        ...

    def shrink(self, buckets: Sequence[Bucket], num_frames: int) -> list[Bucket]:
        """The frames of one stored task that stay when it must give way to a new one.

        Args:
            buckets: what the task left; its demonstrations may be gone by now.
            num_frames: how many of the frames stay: those that the rule ranks first.
        """
        return first_ranked(buckets, num_frames)


def first_ranked(buckets: Sequence[Bucket], num_frames: int) -> list[Bucket]:
    """The frames of the lowest ranks over all buckets, each still in its bucket."""
    held = sorted(
        (rank, position, place)
        for position, bucket in enumerate(buckets)
        for place, rank in enumerate(bucket.ranks)
    )
    if not 0 < num_frames <= len(held):
        raise BadInput(f"a task of {len(held)} stored frames cannot shrink to {num_frames}")
    stay = sorted((position, place) for _, position, place in held[:num_frames])
    places: dict[int, list[int]] = {}
    for position, place in stay:
        places.setdefault(position, []).append(place)
    return [buckets[position].with_frames(chosen) for position, chosen in places.items()]


@runtime_checkable
class Sampler(Protocol):
    """Draws rehearsal frames for the steps of one task."""

    def next(self, count: int, step: int) -> Sequence[FrameRef]:
        """The frames that a step rehearses; none while the memory is empty.

        Args:
            count: how many frames.
            step: the training step; the answer should depend on it and on the stream alone.
        """
        ...

    def next_distinct(self, count: int, step: int) -> Sequence[FrameRef]:
        """The frames of a step, none of them twice where the memory holds enough and the rule
        can tell; what several processes that train together share among them.

        Args:
            count: how many frames, of all processes.
            step: the training step, as in `next`.
        """
        return self.next(count, step)

    def weights(self) -> Float[np.ndarray, "buckets"]:
        """How likely a draw comes from each bucket, over the task so far."""
        ...

    @property
    def is_fixed(self) -> bool:
        """True where the frames of a step depend on the stream and the step alone: they can then
        be read before their step comes."""
        return False

    @property
    def priorities(self) -> Float[np.ndarray, "buckets"] | None:
        """What the weights were made from, for the report; None: nothing to report."""
        return None

    @property
    def uniform_share(self) -> float:
        """Share of the draws that goes to all stored frames alike."""
        return 0.0

    @property
    def measured(self) -> Measurements | None:
        """The answers of the policy that draws depend on; part of every checkpoint."""
        return None

    @property
    def passes(self) -> Passes:
        """What asking the policy has cost so far."""
        return Passes()

    def after_step(self, step: int) -> None:
        """Called when a step is done and its gradient is still there."""
        return None


@runtime_checkable
class Draw(Protocol):
    """Chooses what a training step rehearses; `for_task` does all work once per task."""

    @property
    def needs_prototypes(self) -> bool:
        """True for a rule that compares phases: their language and vision must be encoded."""
        return False

    @property
    def needs_losses(self) -> bool:
        """True for a rule that asks the policy for the loss of stored frames."""
        return False

    @property
    def needs_gradient(self) -> bool:
        """True for a rule that asks the policy for the outcome of a virtual step."""
        return False

    @property
    def reads_gradient(self) -> bool:
        """True for a rule that reads the gradient which a step left in the weights."""
        return False

    @property
    def asks_in_training(self) -> bool:
        """True for a rule that asks the policy between the steps of a task, not only before it."""
        return self.needs_losses or self.needs_gradient

    def for_task(self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe) -> Sampler:
        """The sampler of the task that begins.

        Args:
            memory: what the earlier tasks left.
            task: the new task.
            stream: the source of random numbers.
            probe: asks the policy about stored frames.
        """
        ...
