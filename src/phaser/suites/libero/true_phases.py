"""True phases of a demonstration, from what was true at each of its steps."""

from __future__ import annotations

from collections.abc import Sequence

from phaser.suites.lasting_stages import SHORTEST_STAGE, lasting_stages

Row = tuple[bool, ...]
_SETTLING = ("open", "close", "turnon", "turnoff")


def true_boundaries(
    names: Sequence[str], rows: Sequence[Row], *, shortest: int = SHORTEST_STAGE
) -> tuple[int, ...]:
    """First step of every phase but the first: where what is true changes, and lasts."""
    lasting = lasting_stages(settled(names, rows), shortest=shortest)
    return tuple(step for _, step in lasting[1:])


def settled(names: Sequence[str], rows: Sequence[Row]) -> tuple[Row, ...]:
    """The same rows, with fixtures that were opened, closed or turned on staying so.

    A drawer slides back over LIBERO's threshold by millimetres, and the hand brushes it when it
    puts something in; neither begins a new phase.
    """
    done: dict[int, bool] = {}
    found = []
    for row in rows:
        for position, name in enumerate(names):
            verb, thing, *place = name.split()
            if verb in _SETTLING and not place and row[position]:
                done[position] = True
                if f"touched {thing}" in names:
                    done[names.index(f"touched {thing}")] = False
        found.append(tuple(done.get(k, true) for k, true in enumerate(row)))
    return tuple(found)
