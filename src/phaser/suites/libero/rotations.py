"""The turn of LIBERO's hand in the words of a protocol, from the words of the published files."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

BODY_TO_SITE = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])
"""Axes of the gripper's site in those of the hand's body, whose turn the files hold."""
DOWN = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])
"""The hand's axes in the world when it points straight down: the pose that episodes start from."""


def turns_from_down(axis_angles: Float[np.ndarray, "frames 3"]) -> Float[np.ndarray, "frames 3"]:
    """The shortest turns that lead from a hand that points straight down to these."""
    return np.stack([_shortest(_matrix(one) @ BODY_TO_SITE @ DOWN.T) for one in axis_angles])


def _matrix(axis_angle: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3 3"]:
    """Rodrigues' formula."""
    angle = float(np.linalg.norm(axis_angle))
    if angle < 1e-12:
        return np.eye(3)
    x, y, z = axis_angle / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def _shortest(matrix: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "3"]:
    """Axis times angle, of an angle up to pi, by way of the quaternion's largest number."""
    m = matrix
    trace = float(np.trace(m))
    skew = np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    if trace > 0:
        w = np.sqrt(1 + trace) / 2
        vector = skew / (4 * w)
    else:
        k = int(np.argmax(np.diag(m)))
        i, j = (k + 1) % 3, (k + 2) % 3
        vector = np.zeros(3)
        vector[k] = np.sqrt(max(0.0, 1 + m[k, k] - m[i, i] - m[j, j])) / 2
        w = skew[k] / (4 * vector[k])
        vector[i] = (m[k, i] + m[i, k]) / (4 * vector[k])
        vector[j] = (m[k, j] + m[j, k]) / (4 * vector[k])
    if w < 0:
        w, vector = -w, -vector
    size = float(np.linalg.norm(vector))
    if size < 1e-12:
        return np.zeros(3)
    return vector / size * 2 * np.arctan2(size, w)
