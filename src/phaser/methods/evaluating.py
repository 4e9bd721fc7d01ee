"""Evaluation mode for as long as a policy is asked: without dropout and the like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class HasModes(Protocol):
    """A torch module, as far as its mode goes."""

    def modules(self) -> Iterable[Any]: ...

    def eval(self) -> object: ...


@contextmanager
def evaluating(policy: HasModes) -> Iterator[None]:
    """Every module is back in its own mode afterwards, also when asking raises."""
    modes = [(module, module.training) for module in policy.modules()]
    policy.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
