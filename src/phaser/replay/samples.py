"""A user's sample as the store takes it, and back again: the same types, shapes and bits."""

from __future__ import annotations

from typing import Any

from phaser.memory.sample import Sample, TensorArray
from phaser.replay.tensors import is_tensor, to_stored, to_tensor


def stored_form(value: Any) -> Sample:
    """The sample with its tensors as arrays; the store refuses what it could not give back."""
    if is_tensor(value):
        return to_stored(value)
    # Exact types: a subclass would come back as its base, so the store has to see and refuse it.
    if type(value) is dict:
        return {key: stored_form(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(stored_form(part) for part in value)
    return value


def user_form(value: Sample) -> Any:
    """What the dataset gave when the sample was kept."""
    if isinstance(value, TensorArray):
        return to_tensor(value)
    if isinstance(value, dict):
        return {key: user_form(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(user_form(part) for part in value)
    return value
