"""Open tables: name → thing, one per kind, to which other installed packages add.

A package adds to a table by an entry point in its own pyproject.toml:

    [project.entry-points."phaser.rules"]
    LastFrames = "my_package.rules:LastFrames"

Entries are imported only when they are asked for: listing names stays quick, and a broken package
breaks nothing but itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from phaser.core.errors import BadInput, UnknownName

Entry = TypeVar("Entry")


class Table(Mapping[str, Entry], Generic[Entry]):
    """The entries of one kind: our own, and those that installed packages add."""

    def __init__(
        self,
        *,
        kind: str,
        group: str,
        own: Mapping[str, Entry | str],
        accepts: Callable[[Any], bool] = lambda entry: True,
    ) -> None:
        """Make a table.

        kind: what an entry is, for messages.
        group: the entry points that add to the table.
        own: our entries, or where they are found: "module:name".
        accepts: tells which entry points belong here, where one group feeds several tables.
        """
        self.kind, self.group = kind, group
        self._own = dict(own)
        self._accepts = accepts

    def __getitem__(self, name: str) -> Entry:
        if name in self._own:
            found = self._own[name]
            return _imported(found) if isinstance(found, str) else found
        added = _added(self.group)
        if name in added and self._accepts(loaded := _loaded(added[name])):
            entry: Entry = loaded
            return entry
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        """All names; those of other packages where they belong here."""
        yield from self._own
        for name, point in _added(self.group).items():
            if name not in self._own and self._accepts(_loaded(point)):
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        if name in self._own:
            return True
        return isinstance(name, str) and name in _added(self.group) and name in set(self)

    def require(self, name: str) -> Entry:
        """The entry of that name, or an error with the nearest names that exist."""
        try:
            return self[name]
        except KeyError:
            raise UnknownName(self.kind, name, self) from None

    def name_of(self, entry: object) -> str:
        """The name under which an entry stands in the table."""
        for name in self:
            if self[name] is entry:
                return name
        shown = getattr(entry, "__name__", str(entry))
        raise BadInput(
            f"{shown} is no {self.kind} that files and flags know; add it in the pyproject.toml of "
            f'your package: [project.entry-points."{self.group}"] {shown} = "module:{shown}"'
        )


@cache
def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


@cache
def _added(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


@cache
def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        package = point.dist.name if point.dist else "?"
        raise BadInput(
            f"the installed package {package} offers {point.group} {point.name!r}, which does not "
            f"load ({error}); mend the package or remove it"
        ) from error
