"""Named, counter-based random streams: what is drawn depends on the name, never on who drew before.

`Streams(7).named("draw", "drawer-open")` is the same generator on every machine, at every step and
after every resume. `at_step` makes the batch of a step a pure function of (seed, name, step).
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, slots=True)
class Stream:
    """One named stream: call it for its generator, or ask for the generator of a step."""

    key: int
    """The key of the counter-based generator, 128 bits."""

    def __call__(self) -> np.random.Generator:
        """The generator of step 0, always from its start."""
        return self.at_step(0)

    def at_step(self, step: int) -> np.random.Generator:
        """A generator for this step alone; two steps never share numbers."""
        return np.random.Generator(np.random.Philox(key=self.key, counter=[0, 0, 0, step]))

    def uniforms(self, count: int, *, step: int) -> Float[np.ndarray, "count"]:
        """What `at_step(step).random(count)` gives, without the cost of making a generator.

        Args:
            count: how many numbers, each in [0, 1).
            step: the training step that they belong to.
        """
        return self.moved_to(step).random(count)

    def moved_to(self, step: int) -> np.random.Generator:
        """The thread's own generator at this step, as `at_step` gives a new one; whoever asks
        next, of whatever stream, moves it away."""
        # Plain numbers where numpy's own state has arrays: it reads them one by one, these faster.
        state: Any = {
            "bit_generator": "Philox",
            "state": {"counter": (0, 0, 0, step), "key": (self.key & _LOW_64, self.key >> 64)},
            "buffer": (0, 0, 0, 0),
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }
        _REUSED.philox.state = state
        return _REUSED.generator

    def integer(self) -> int:
        """A seed below 2**63 for libraries that keep their own generator."""
        return self.key & (2**63 - 1)


@dataclass(frozen=True, slots=True)
class Streams:
    """All streams of a run, derived from one seed."""

    seed: int
    """The one number that all streams depend on."""

    def named(self, *names: object) -> Stream:
        """The stream of that name; other names give numbers that have nothing to do with its."""
        text = "\x1f".join(str(part) for part in (self.seed, *names))
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        return Stream(int.from_bytes(digest, "big"))


class _Reused(threading.local):
    """One generator per thread, moved to a stream's step before every use, so it has no memory."""

    def __init__(self) -> None:
        self.philox = np.random.Philox(key=0)
        self.generator = np.random.Generator(self.philox)


_LOW_64 = 2**64 - 1
_REUSED = _Reused()
