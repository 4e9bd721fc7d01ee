"""The ports of frozen encoders: what prototypes are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float


@runtime_checkable
class LanguageEncoder(Protocol):
    """Sentences to vectors, by frozen weights."""

    @property
    def identity(self) -> str:
        """Names the encoder, weights included; what it computed is cached under this name."""
        ...

    def encode(self, sentences: Sequence[str]) -> Float[np.ndarray, "count language"]:
        """One vector per sentence."""
        ...


@runtime_checkable
class VisionEncoder(Protocol):
    """Images to vectors, by frozen weights: a front end that can also describe an image."""

    @property
    def identity(self) -> str:
        """Names the encoder, weights included; what it computed is cached under this name."""
        ...

    def __call__(self, images: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """For each camera an array with one row per image."""
        ...

    def describe(self, maps: Mapping[str, np.ndarray]) -> Float[np.ndarray, "count vision"]:
        """One vector per frame from what the call gave for all cameras."""
        ...
