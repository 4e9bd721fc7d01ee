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
    """The same rows without what physics does on its own and begins no new phase.

    A drawer that was opened stays so, though it slides back over LIBERO's threshold by millimetres
    and the hand brushes it when it puts something in. What was lifted stays so until it is let go,
    though it scrapes along the basket's wall.
    """
    position = {name: k for k, name in enumerate(names)}
    atoms = [name.split() for name in names]
    fixtures = [atom for atom in atoms if atom[0] in _SETTLING]
    carried = [atom[1] for atom in atoms if atom[0] == "lifted"]
    done: dict[int, bool] = {}
    found: list[Row] = []
    for row in rows:
        now = list(row)
        for verb, thing in fixtures:
            if row[position[f"{verb} {thing}"]]:
                done |= {position[f"{verb} {thing}"]: True, position[f"touched {thing}"]: False}
        for thing in carried:
            lifted = position[f"lifted {thing}"]
            was = bool(found) and found[-1][lifted]
            now[lifted] |= was and row[position[f"grasped {thing}"]]
        found.append(tuple(done.get(k, true) for k, true in enumerate(now)))
    return tuple(found)
