"""The interference priority of a stored phase for a current one (paper 3.3).

U = S (D - γ (1 - D)) with S = α cos(e_L, e_L') + (1 - α) cos(e_V, e_V') and
D = (1 - cos(e_A, e_A')) / 2: high where the scene is shared but the motion differs.
A vector without length has no direction; its cosine with anything is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.memory import Memory, Prototype

_NO_LENGTH = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Phases:
    """The prototypes of some phases as arrays, a row for each."""

    language: Float[np.ndarray, "phases language"]
    vision: Float[np.ndarray, "phases vision"]
    action: Float[np.ndarray, "phases action"]
    motion: tuple[int, ...]
    """The action dimensions that move the arm."""

    @classmethod
    def of(cls, prototypes: Sequence[Prototype]) -> Phases:
        parts = {
            part: np.stack([getattr(one, part) for one in prototypes]).astype(np.float64)
            for part in ("language", "vision", "action")
        }
        return cls(**parts, motion=prototypes[0].motion)

    @classmethod
    def stored(cls, memory: Memory) -> Phases:
        """All phases of a memory that is not empty."""
        parts = {part: memory.stacked(part) for part in ("language", "vision", "action")}
        return cls(**parts, motion=memory.buckets[0].prototype.motion)


def context_overlap(
    past: Phases,
    current: Phases,
    *,
    language_share: float = 0.5,
    centre_vision: bool = False,
) -> Float[np.ndarray, "past current"]:
    """S: how much instruction and sight are shared; `language_share` is the paper's α.

    `centre_vision` first subtracts the mean visual prototype of all these phases: uncentred visual
    means of one robot and table are nearly parallel and hardly tell scenes apart. Centred cosines
    may be negative, which would turn a large divergence into a low priority; "less alike than
    average" means no shared context, so S is then cut off at 0.
    """
    language = cosines(past.language, current.language)
    past_vision, current_vision = past.vision, current.vision
    if centre_vision:
        centre = np.concatenate([past_vision, current_vision]).mean(axis=0)
        past_vision, current_vision = past_vision - centre, current_vision - centre
    vision = cosines(past_vision, current_vision)
    overlap = language_share * language + (1 - language_share) * vision
    return np.maximum(overlap, 0.0) if centre_vision else overlap


def action_divergence(
    past: Phases, current: Phases, *, motion_only: bool = False, normalise: bool = False
) -> Float[np.ndarray, "past current"]:
    """D in [0, 1]: 0 for the same direction of motion, 1 for the opposite.

    `motion_only` leaves the gripper out: its constant command dominates a mean over all dimensions.
    `normalise` divides every dimension by its largest absolute value over all these phases.
    """
    past_action, current_action = past.action, current.action
    if motion_only:
        past_action = past_action[:, list(past.motion)]
        current_action = current_action[:, list(current.motion)]
    if normalise:
        largest = np.abs(np.concatenate([past_action, current_action])).max(axis=0)
        scale = np.where(largest > _NO_LENGTH, largest, 1.0)
        past_action, current_action = past_action / scale, current_action / scale
    return 0.5 * (1 - cosines(past_action, current_action))


def priority(
    context: Float[np.ndarray, "past current"],
    divergence: Float[np.ndarray, "past current"],
    *,
    redundancy_penalty: float = 0.5,
) -> Float[np.ndarray, "past current"]:
    """U = S (D - γ (1 - D)); `redundancy_penalty` is the paper's γ."""
    return context * (divergence - redundancy_penalty * (1 - divergence))


def cosines(
    left: Float[np.ndarray, "left dims"], right: Float[np.ndarray, "right dims"]
) -> Float[np.ndarray, "left right"]:
    """Cosine of every row of `left` with every row of `right`, within [-1, 1]."""
    return np.asarray(np.clip(_directions(left) @ _directions(right).T, -1.0, 1.0))


def _directions(rows: Float[np.ndarray, "rows dims"]) -> Float[np.ndarray, "rows dims"]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > _NO_LENGTH, rows / np.maximum(lengths, _NO_LENGTH), 0.0)
