"""A policy that is asked, not trained: without dropout and the like for as long as it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(policy: nn.Module) -> Iterator[None]:
    """Every module is back in its own mode afterwards, also when asking raises."""
    modes = [(module, module.training) for module in policy.modules()]
    policy.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
