"""A run with one setting changed, by the setting's path (`fit.learning_rate`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phaser.core.errors import BadInput, UnknownName
from phaser.experiments.run import Run, run_from
from phaser.experiments.settings_files import KIND, converter

DECIDED_ELSEWHERE = ("preset", "label", "phases", "seed", "suite.cache")
"""Settings with an axis or a flag of their own, or that belong to a machine."""
OWN_AXES = {"budget": "--budgets", "suite.order": "--orders", "method.name": "--methods"}
NOTHING = "none"
"""How no value is written where a file or a command line has no word for it."""


class MissingSetting(UnknownName):
    """A path that names no setting of a run."""

    def __init__(self, path: str, known: Iterable[str]) -> None:
        super().__init__("setting", path, known)


def changed_setting(run: Run, path: str, value: Any) -> Run:
    """The run with another value of one setting, checked as settings from a file are."""
    if path in DECIDED_ELSEWHERE:
        raise BadInput(f"{path} is no axis; it has a flag of its own, or is not a setting")
    if own := next(
        (flag for name, flag in OWN_AXES.items() if f"{path}.".startswith(f"{name}.")), None
    ):
        raise BadInput(f"{path} has an axis of its own: {own}")
    settings = converter().unstructure(run)
    branch: Any = settings
    *inner, leaf = path.split(".")
    for name in inner:
        branch = branch.get(name) if isinstance(branch, dict) else None
    if not isinstance(branch, dict) or leaf not in branch or leaf == KIND:
        raise MissingSetting(path, setting_names(run))
    branch[leaf] = None if value == NOTHING else value
    return run_from(settings, source=f"{path} = {value}")


def setting_names(run: Run) -> list[str]:
    """The paths of all settings that can be changed."""
    settings = converter().unstructure(run)
    return [path for path in _paths(settings) if path not in DECIDED_ELSEWHERE]


def _paths(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in settings.items():
        if name == KIND:
            continue
        yield f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _paths(value, f"{prefix}{name}.")
