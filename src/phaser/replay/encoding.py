"""What a phase looks and reads like, from frozen encoders or the user's own (paper 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image

from phaser.core.demonstration import Demo, FrameRef
from phaser.core.errors import BadInput
from phaser.core.memory import FrameFeatures, Memory, Prototype
from phaser.core.segmentation import Segmentation, phase_names
from phaser.encoders.table import LANGUAGE, VISION
from phaser.replay.columns import Columns, say
from phaser.replay.images import image_names, images_of
from phaser.replay.recording import Recording
from phaser.replay.tensors import as_array
from phaser.routing.prototypes import prototypes

FRAMES_PER_PHASE = 64
"""A mean over more frames of one phase hardly moves, and every frame is an image to decode."""
LARGEST_SIDE, SIDE_STEP = 128, 16
"""The default encoder looks at images of at most 128 pixels a side, in steps of its stride."""

CAMERA = "camera"
"""Cameras are described one by one, under this name."""

Language = Callable[[str], Float[np.ndarray, "language"]]
Vision = Callable[[UInt8[np.ndarray, "count height width 3"]], Float[np.ndarray, "count vision"]]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Encoders:
    """Text and images to vectors: encoders by name (`phaser.encoders.table`), or functions."""

    language: Language | str = "minilm"
    vision: Vision | str = "efficientnet-lite0"

    def prototypes(
        self,
        recording: Recording,
        segmentations: Sequence[Segmentation],
        *,
        instruction: str,
        columns: Columns,
    ) -> tuple[Prototype, ...]:
        """One prototype per phase: instruction, sight of up to 64 of its frames, mean action."""
        blind = without_encoders(recording, segmentations, language=self._instruction(instruction))
        first = _frames(recording, segmentations, segmentations[0].labels[0])[0]
        names = image_names(recording.sample(first), columns)
        if not names:
            return blind
        see = self._vision()
        sights = []
        for label in phase_names(segmentations):
            refs = _frames(recording, segmentations, label)
            images = [
                images_of(recording.sample(ref), names, row=recording.row(ref)) for ref in refs
            ]
            sights.append(_sight(images, see))
        if len({len(sight) for sight in sights}) > 1:
            raise BadInput(
                f"vision() gave vectors of the lengths {[len(sight) for sight in sights]} for the "
                "phases of one task; expected one length"
            )
        return tuple(replace(one, vision=sight) for one, sight in zip(blind, sights, strict=True))

    def features(self, recording: Recording, columns: Columns) -> FrameFeatures | None:
        """Visual vectors of every frame, for rules that compare frames; None without images.

        Every image is decoded, once; a line on standard error says so where it takes long.
        """
        names = image_names(recording.sample(_some_frame(recording)), columns)
        if not names:
            say("no images are named, so frames are compared by state and action")
            return None
        see = self._vision()

        def frame_features(demo: Demo) -> Float[np.ndarray, "frames vision"]:
            refs = [FrameRef(demo.task, demo.index, frame) for frame in range(demo.num_frames)]
            images = [
                images_of(recording.sample(ref), names, row=recording.row(ref)) for ref in refs
            ]
            return np.concatenate([_seen(camera, see) for camera in zip(*images, strict=True)], 1)

        return lru_cache(maxsize=None)(frame_features)

    def _vision(self) -> Vision:
        return named_vision(self.vision) if isinstance(self.vision, str) else self.vision

    def _instruction(self, instruction: str) -> Float[np.ndarray, "language"]:
        embed = named_language(self.language) if isinstance(self.language, str) else self.language
        vector = _numbers(embed(instruction), "language()")
        if vector.ndim != 1:
            raise BadInput(
                f"language() gave shape {vector.shape} for one instruction; expected one vector"
            )
        return vector


def without_encoders(
    recording: Recording,
    segmentations: Sequence[Segmentation],
    *,
    language: Float[np.ndarray, "language"] | None = None,
) -> tuple[Prototype, ...]:
    """Prototypes of mean actions alone: enough for every rule that does not route."""
    return prototypes(
        recording.demos,
        segmentations,
        instruction_embedding=np.zeros(0) if language is None else language,
        frame_features=lambda demo: np.zeros((demo.num_frames, 0)),
    )


def check_comparable(memory: Memory, current: Sequence[Prototype]) -> None:
    """Refuse to route between phases that were described by other encoders or cameras."""
    for block in memory.blocks:
        first = block.buckets[0]
        for part in ("language", "vision", "action"):
            stored, new = (len(getattr(one, part)) for one in (first.prototype, current[0]))
            if stored != new:
                raise BadInput(
                    f"stored task {first.phase.task!r} is described by {stored} {part} numbers, "
                    f"this one by {new}; route with the encoders, cameras and action space it was "
                    "kept with, use method 'phase-only' or 'er', or begin another memory"
                )


def named_language(name: str) -> Language:
    """A language encoder of the table; what it lacks is named by its error."""
    encoder = LANGUAGE.require(name)()
    return lambda sentence: encoder.encode([sentence])[0]


def named_vision(name: str) -> Vision:
    """A vision encoder of the table, on images of at most 128 × 128 pixels."""
    encoder = VISION.require(name)((CAMERA,))

    def see(images: UInt8[np.ndarray, "count height width 3"]) -> Float[np.ndarray, "count _"]:
        return encoder.describe(encoder({CAMERA: np.stack([_resized(one) for one in images])}))

    return see


def _resized(image: UInt8[np.ndarray, "height width 3"]) -> UInt8[np.ndarray, "_ _ 3"]:
    """Smaller where it is large: a prototype is a mean over space, detail is lost in it anyway."""
    height, width = (
        min(LARGEST_SIDE, max(1, side // SIDE_STEP) * SIDE_STEP) for side in image.shape[:2]
    )
    return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR))


def _frames(
    recording: Recording, segmentations: Sequence[Segmentation], label: str
) -> list[FrameRef]:
    """Up to 64 frames of a phase, spread evenly over its frames in all demonstrations."""
    refs = [
        FrameRef(demo.task, demo.index, frame)
        for demo, cut in zip(recording.demos, segmentations, strict=True)
        for frame in cut.frames_of(label)
    ]
    count = min(FRAMES_PER_PHASE, len(refs))
    return [refs[at] for at in np.linspace(0, len(refs) - 1, count).round().astype(int)]


def _sight(images: Sequence[Sequence[np.ndarray]], see: Vision) -> Float[np.ndarray, "vision"]:
    """The mean vector of each camera, side by side."""
    return np.concatenate([_seen(camera, see).mean(axis=0) for camera in zip(*images, strict=True)])


def _seen(camera: Sequence[np.ndarray], see: Vision) -> Float[np.ndarray, "count vision"]:
    """A vector for each image of one camera."""
    shapes = {image.shape for image in camera}
    if len(shapes) > 1:
        raise BadInput(f"images of one camera have the shapes {sorted(shapes)}; expected one")
    vectors = _numbers(see(np.stack(camera)), "vision()")
    if vectors.ndim != 2 or len(vectors) != len(camera):
        raise BadInput(
            f"vision() gave shape {vectors.shape} for {len(camera)} images; "
            "expected one vector per image"
        )
    return vectors


def _numbers(found: object, encoder: str) -> Float[np.ndarray, "*shape"]:
    """What an encoder of the user gave, if it is finite numbers."""
    values = as_array(found)
    if values.dtype.kind not in "fiub":
        raise BadInput(f"{encoder} gave {values.dtype}; expected finite numbers")
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    if not np.isfinite(values).all():
        raise BadInput(f"{encoder} gave NaN or infinity; expected finite numbers")
    return values


def _some_frame(recording: Recording) -> FrameRef:
    demo = recording.demos[0]
    return FrameRef(demo.task, demo.index, 0)
