"""The ports: what each layer asks of the next.

Rules and adapters implement them by shape. Whoever inherits from a port gets its defaults: a keep
rule is then `select` alone, a sampler `next` and `weights`. Everything that is used of a rule is
stated here, and a rule says itself what it needs; nobody outside asks for its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

SizeOf = Callable[[FrameRef], int]
"""The encoded size of a frame in bytes."""


@runtime_checkable
class Probe(Protocol):
    """Asks the policy about stored frames, as it is now and without training it."""

    @property
    def num_steps(self) -> int | None:
        """Training steps of the task that begins; none where nobody said."""
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
        """The rise of each frame's loss in a virtual step of plain gradient descent.

        "virtual" descends on the current task's frames of training step `step`; "snapshot" along
        the gradient that the step before left.
        """
        ...


@runtime_checkable
class Segmenter(Protocol):
    """Cuts the demonstrations of one task into the same phases each."""

    @property
    def max_phases(self) -> int | None:
        """The most phases that a task can be cut into; None: there is no such number."""
        return None

    def segment(self, demos: Sequence[Demo]) -> tuple[Segmentation, ...]: ...


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
        """From now on, frames 0, 1, … of a task of that name are the rows of these samples."""
        ...

    def join(self, name: str, parts: Sequence[str]) -> None:
        """From now on, a task of that name has the imagined frames of these, one after another."""
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
            sum(len(cut.phases[phase]) for cut in task.segmentations)
            for phase in range(len(task.labels))
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
        """Exactly `num_frames` distinct frames of the task, in buckets by phase."""
        ...

    def shrink(self, buckets: Sequence[Bucket], num_frames: int) -> list[Bucket]:
        """The `num_frames` frames of one stored task that stay when it must give way, in the
        rule's own order; the demonstrations may be gone by then."""
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
        """The frames of a step; none while the memory is empty."""
        ...

    def next_distinct(self, count: int, step: int) -> Sequence[FrameRef]:
        """The frames of a step, none of them twice where the memory holds enough and the rule
        can tell; what several processes that train together share among them."""
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

    def for_task(
        self, memory: Memory, task: PreparedTask, stream: Stream, probe: Probe
    ) -> Sampler: ...


@runtime_checkable
class LanguageEncoder(Protocol):
    """Sentences to vectors, by frozen weights."""

    @property
    def identity(self) -> str: ...

    def encode(self, sentences: Sequence[str]) -> Float[np.ndarray, "count language"]: ...


@runtime_checkable
class VisionEncoder(Protocol):
    """Images to vectors, by frozen weights: a front end that can also describe an image."""

    @property
    def identity(self) -> str: ...

    def __call__(self, images: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]: ...

    def describe(self, maps: Mapping[str, np.ndarray]) -> Float[np.ndarray, "count vision"]:
        """One vector per frame from what the call gave for all cameras."""
        ...
