"""Values of a run to plain JSON and back; unknown keys and unknown names are refused.

A value of a port (a rule, a policy, a suite) carries its name in its table under "kind".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phaser.core.errors import BadInput
from phaser.core.tables import Table
from phaser.experiments.tables import TABLES

if TYPE_CHECKING:
    import cattrs

KIND = "kind"


@cache
def converter() -> cattrs.Converter:
    """Converts between values and JSON by the tables of names."""
    # Imported here: help and mistakes convert nothing.
    import cattrs

    made = cattrs.Converter(forbid_extra_keys=True)
    made.register_unstructure_hook(Path, str)
    made.register_structure_hook(Path, lambda value, _: Path(value))
    made.register_structure_hook(
        str | tuple[str, ...], lambda value, _: value if isinstance(value, str) else tuple(value)
    )
    for port, table in TABLES.items():
        made.register_unstructure_hook_func(_is(port), _to_json(made, table))
        made.register_structure_hook_func(_is(port), _from_json(made, table))
    return made


def _is(port: type[Any]) -> Callable[[Any], bool]:
    return lambda kind: kind is port


def _to_json(made: cattrs.Converter, table: Table[Any]) -> Callable[[Any], dict[str, Any]]:
    def to_json(value: Any) -> dict[str, Any]:
        kind = type(value)
        return {KIND: table.name_of(kind), **made.unstructure(value, unstructure_as=kind)}

    return to_json


def _from_json(made: cattrs.Converter, table: Table[Any]) -> Callable[[Any, Any], Any]:
    def from_json(value: Any, _: Any) -> Any:
        if not isinstance(value, dict) or KIND not in value:
            raise BadInput(f"a {table.kind} is {value!r}; expected an object with {KIND!r}")
        fields = {name: part for name, part in value.items() if name != KIND}
        return made.structure(fields, table.require(value[KIND]))

    return from_json


def layered(below: Any, above: Any) -> Any:
    """The upper value, with what it leaves out from the lower; another rule replaces it whole."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    if above.get(KIND, below.get(KIND)) != below.get(KIND):
        return above
    return below | {name: layered(below.get(name), value) for name, value in above.items()}
