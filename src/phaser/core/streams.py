"""Named, counter-based random streams: what is drawn depends on the name, never on who drew before.

`Streams(7).named("draw", "drawer-open")` is the same generator on every machine, at every step and
after every resume. `at_step` makes the batch of a step a pure function of (seed, name, step).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Stream:
    """One named stream: call it for its generator, or ask for the generator of a step."""

    key: int

    def __call__(self) -> np.random.Generator:
        return self.at_step(0)

    def at_step(self, step: int) -> np.random.Generator:
        """A generator for this step alone; two steps never share numbers."""
        return np.random.Generator(np.random.Philox(key=self.key, counter=[0, 0, 0, step]))

    def integer(self) -> int:
        """A seed below 2**63 for libraries that keep their own generator."""
        return self.key & (2**63 - 1)


@dataclass(frozen=True, slots=True)
class Streams:
    """All streams of a run, derived from one seed."""

    seed: int

    def named(self, *names: object) -> Stream:
        text = "\x1f".join(str(part) for part in (self.seed, *names))
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        return Stream(int.from_bytes(digest, "big"))
