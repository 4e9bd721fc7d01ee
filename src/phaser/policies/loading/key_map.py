"""Names of weights in a published file and in ours, and a short way to list many of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NUMBER = re.compile(r"\.(\d+)(?=\.)")


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyMap:
    """Prefixes of published names with what they are here; the first that fits is taken."""

    prefixes: tuple[tuple[str, str], ...]
    ignored: tuple[str, ...] = ()
    """Regular expressions for published names that no network here has, because no action depends
    on them."""
    optional: tuple[str, ...] = ()
    """Our names that a file may leave out, because they are tied to others."""

    def ours(self, published: str) -> str | None:
        """Our name of a published weight; None if it is ignored. An unknown name stays as it is."""
        if any(re.fullmatch(pattern, published) for pattern in self.ignored):
            return None
        for prefix, here in self.prefixes:
            if published.startswith(prefix):
                return here + published[len(prefix) :]
        return published

    def published(self, ours: str) -> str | None:
        """The published name of our weight, by the first prefix that fits; None for none."""
        for prefix, here in self.prefixes:
            if ours.startswith(here):
                return prefix + ours[len(here) :]
        return None


def listed(names: Iterable[str]) -> str:
    """Every name, those that differ in one number only together: `layers.{0-31}.mlp.weight`."""
    groups: dict[str, list[int]] = {}
    for name in sorted(names):
        number = _NUMBER.search(name)
        pattern = name if number is None else _NUMBER.sub(".{}", name, count=1)
        groups.setdefault(pattern, []).extend([] if number is None else [int(number[1])])
    return ", ".join(
        pattern.replace("{}", f"{{{_spans(numbers)}}}", 1)
        if len(numbers) > 1
        else pattern.replace("{}", str(numbers[0]), 1)
        if numbers
        else pattern
        for pattern, numbers in groups.items()
    )


def _spans(numbers: list[int]) -> str:
    numbers = sorted(numbers)
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
