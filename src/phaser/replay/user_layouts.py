"""What the numbers of a user's actions do: as told, else as the dataset says; never guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phaser.core.demonstration import ActionLayout
from phaser.core.errors import BadInput
from phaser.demos.declared_layout import in_words, layout_in_info
from phaser.demos.layouts import LAYOUTS, check_layout, layout_named
from phaser.demos.lerobot_layout import read_sidecar
from phaser.replay.columns import Key, say
from phaser.replay.nested_datasets import innermost


def layout_of(
    samples: Any,
    given: ActionLayout | str | None,
    *,
    action: Key,
    num_dimensions: int,
    task: str,
) -> ActionLayout:
    """The layout that was given, else the one that all datasets of a task declare."""
    if isinstance(given, str):
        named = layout_named(given)
        if named.size != num_dimensions:
            raise BadInput(
                f"actions of task {task!r} have {num_dimensions} numbers, the layout {given!r} "
                f"{named.size}; give another layout"
            )
        return named.layout
    layout = given or _declared(samples, action, task)
    if not isinstance(layout, ActionLayout):
        raise BadInput(
            f"the dataset of task {task!r} does not say which of its {num_dimensions} action "
            f"numbers move the arm; pass layout= one of {', '.join(sorted(LAYOUTS))}, "
            "or ActionLayout(motion=(0, 1, 2, 3, 4, 5), gripper=(6,))"
        )
    check_layout(layout, num_dimensions=num_dimensions, source=Path(task))
    return layout


def _declared(samples: Any, action: Key, task: str) -> Any:
    if hasattr(samples, "layout"):
        return samples.layout
    found = [_own(one, action) for one in innermost(samples)]
    if any(one != found[0] for one in found):
        raise BadInput(
            f"the datasets of task {task!r} declare different action layouts; make them tasks of "
            "their own, or pass one layout= for all"
        )
    layout, from_names = found[0]
    if from_names:
        say(f"actions of task {task!r}, by the names in info.json: {in_words(layout)}")
    return layout


def _own(dataset: Any, action: Key) -> tuple[Any, bool]:
    """From the dataset itself, our sidecar in its folder, or the names in its info.json; and
    whether it was the names."""
    layout = getattr(dataset, "layout", None)
    root = getattr(dataset, "root", None)
    if layout is None and root is not None:
        sidecar = read_sidecar(Path(root))
        layout = sidecar.layout if sidecar else None
    info = getattr(getattr(dataset, "meta", None), "info", None)
    if layout is not None or info is None:
        return layout, False
    layout = layout_in_info(info, str(action))
    return layout, layout is not None
