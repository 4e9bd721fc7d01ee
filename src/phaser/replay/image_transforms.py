"""LeRobot's image transforms: off while frames are read for the memory, on when they come back.

A dataset with random augmentation gives another image each time it is asked. Stored, one of them
would be rehearsed for ever, and as numbers that no image codec takes. So frames are kept as they
were recorded, and rehearsed ones go through the transforms of the task at hand, as the current
ones do.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from phaser.core.streams import Stream
from phaser.replay.columns import say
from phaser.replay.nested_datasets import datasets_inside, innermost
from phaser.replay.tensors import same_values, seeded

ImageTransform = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Augmentation:
    """The image transforms of a dataset, for samples that come from the memory."""

    transform: ImageTransform
    cameras: tuple[str, ...]
    stream: Stream
    """Random transforms depend on it and on the step, and leave the loop's own numbers alone."""

    def __call__(self, samples: list[Any], *, step: int) -> list[Any]:
        """The samples with their images transformed, as the dataset transforms its own."""
        if not samples:
            return samples
        with seeded(int(self.stream.at_step(step).integers(1 << 62))):
            return [self._one(sample) for sample in samples]

    def _one(self, sample: Any) -> Any:
        if not isinstance(sample, dict):
            return sample
        changed = {name: self.transform(sample[name]) for name in self.cameras if name in sample}
        return {**sample, **changed}


def augmentation_of(dataset: Any, stream: Stream) -> Augmentation | None:
    """What a dataset does to its images; None where it gives them as they were recorded."""
    for one in innermost(dataset):
        transform = getattr(one, "image_transforms", None) if hasattr(one, "meta") else None
        if transform is not None:
            depth = getattr(one.meta, "depth_keys", ())
            cameras = tuple(name for name in one.meta.camera_keys if name not in depth)
            return Augmentation(transform=transform, cameras=cameras, stream=stream)
    return None


def without_image_transforms(dataset: Any) -> Any:
    """The dataset, or a copy of it that shares its rows and transforms no image."""
    changed: dict[str, Any] = {}
    if hasattr(dataset, "meta") and getattr(dataset, "image_transforms", None) is not None:
        changed["image_transforms"] = None
        reader = getattr(dataset, "reader", None)
        if reader is not None:
            # Since LeRobot 0.6 a part of the dataset reads, with transforms of its own.
            changed["reader"] = _changed(reader, {"_image_transforms": None})
    inside = datasets_inside(dataset)
    plain = [without_image_transforms(one) for one in inside]
    if any(one is not other for one, other in zip(inside, plain, strict=True)):
        name = next(name for name in ("dataset", "datasets", "_datasets") if hasattr(dataset, name))
        changed[name] = plain[0] if name == "dataset" else plain
        if name == "_datasets":
            changed["image_transforms"] = None
    return _changed(dataset, changed) if changed else dataset


def say_if_random(samples: Any, row: int) -> None:
    """One line where a dataset gives another image each time: one of them would be kept."""
    name = _differs(samples[row], samples[row])
    if name is not None:
        say(
            f"the dataset gives {name!r} differently each time it is read (random augmentation?); "
            "one version of each frame will be stored and rehearsed: give Replay the dataset "
            "without it, and augment after task.mix"
        )


def _differs(one: Any, other: Any) -> str | None:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return None
    return next(
        (name for name in one if name in other and not same_values(one[name], other[name])), None
    )


def _changed(value: Any, changes: dict[str, Any]) -> Any:
    clone = copy.copy(value)
    for name, change in changes.items():
        setattr(clone, name, change)
    return clone
