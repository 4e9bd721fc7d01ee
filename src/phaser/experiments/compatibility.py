"""Compatibility of a folder with the run that is to go on in it: refusals name each difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.files import read_json
from phaser.experiments.provenance import commit
from phaser.experiments.run import Run, run_from, settings_of
from phaser.experiments.versions import versions

LIBRARIES = ("torch", "numpy", "metaworld", "mujoco", "hf-libero", "robosuite")
"""Libraries whose version affects results."""


def require_same_settings(folder: Path, run: Run) -> None:
    """Refuse a folder that holds a run with other settings, saying which."""
    if not (folder / "run.json").exists():
        return
    # Read as a run, so that a setting which is newer than the folder has its default there.
    was = run_from(about(folder)["settings"], source=str(folder / "run.json"))
    if found := list(_differences(_deciding(was), _deciding(run))):
        raise BadInput(
            f"{folder} holds a run with other settings ({'; '.join(found)}); "
            "choose another --out, or give the settings it has"
        )


def require_same_libraries(folder: Path) -> None:
    """Refuse to go on with libraries that would compute other numbers than the first half has."""
    was, now = about(folder).get("versions", {}), versions()
    changed = [
        f"{name}: {was[name]} → {now[name]}"
        for name in LIBRARIES
        if was.get(name, now[name]) != now[name]
    ]
    if changed:
        raise BadInput(
            f"{folder} was begun with other libraries ({'; '.join(changed)}); "
            "install those, or begin again with another --out"
        )


def require_same_demonstrations(
    task: str, was: Mapping[str, str] | None, now: Mapping[str, str]
) -> None:
    """Refuse recordings other than those that a task was learnt from."""
    if was is None or was == now:
        return
    changed = "; ".join(_differences(was, now))
    raise BadInput(
        f"the demonstrations of task {task!r} changed since the run began (SHA-256 {changed}); "
        "restore them, or begin again with another --out"
    )


def require_same_contract(folder: Path, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse a policy that sees, or commands, other things than it was trained on so far."""
    if found := list(_differences(was, now)):
        raise BadInput(
            f"{folder} was begun under another observation contract ({'; '.join(found)}); "
            "begin again with another --out"
        )


def other_commit(folder: Path) -> str | None:
    """The commit that began the run, where it is not the one that goes on with it."""
    begun = str(about(folder).get("commit"))
    return None if begun == commit() else begun


def about(folder: Path) -> dict[str, Any]:
    """The folder's `run.json`."""
    found = read_json(folder / "run.json")
    if not isinstance(found, dict) or "settings" not in found:
        raise BrokenFile(f"{folder / 'run.json'} does not describe a run; restore it")
    return found


def _deciding(run: Run) -> dict[str, Any]:
    """All settings on which the numbers depend."""
    settings = settings_of(run)
    settings.pop("label", None)
    settings["fit"] = {k: v for k, v in settings["fit"].items() if k != "checkpoint_every_steps"}
    return settings


def _differences(was: Any, now: Any, path: str = "") -> Iterator[str]:
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for name in sorted({*was, *now}):
            inner = f"{path}.{name}" if path else name
            yield from _differences(was.get(name), now.get(name), inner)
    elif was != now:
        yield f"{path}: {was} → {now}"
