"""dataset_statistics.json of published checkpoints, read with every number checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phaser.core.contract import Contract, Statistics
from phaser.core.errors import BadInput, BrokenFile, UnknownName
from phaser.core.files import read_json
from phaser.core.ranges import is_number
from phaser.policies.parts.scaling import Scaling

FILE_NAME = "dataset_statistics.json"
_FIELDS = ("mean", "std", "min", "max", "q01", "q99")


def statistics_of(
    scaling: Scaling, contract: Contract, checkpoint: Path | None
) -> tuple[Statistics | None, Statistics | None]:
    """Statistics of actions and of states, from where the scaling says.

    Args:
        scaling: Names the source.
        contract: Has the suite's own statistics, and says which action numbers are the gripper.
        checkpoint: The checkpoint's folder, if there is one.
    """
    if scaling.rule == "fixed" or scaling.statistics == "suite":
        return contract.action_statistics, contract.state_statistics
    if scaling.statistics != "checkpoint":
        return read_statistics(Path(scaling.statistics), scaling.statistics_key, contract)
    if checkpoint is None:
        raise BadInput(
            "scaling.statistics is checkpoint, but no checkpoint is given; set weights.checkpoint"
        )
    return read_statistics(checkpoint / FILE_NAME, scaling.statistics_key, contract)


def read_statistics(
    path: Path, key: str, contract: Contract
) -> tuple[Statistics, Statistics | None]:
    """The actions' and the states' statistics of one entry of a file.

    Args:
        path: A dataset_statistics.json.
        key: The entry's name; empty for the only one.
        contract: Its gripper must be what the file leaves unscaled.
    """
    if not path.is_file():
        raise BadInput(
            f"{path} does not exist; expected the statistics that the checkpoint was trained with: "
            "download the file, or set scaling.statistics to its path"
        )
    entry = _entry(read_json(path), key, path)
    action = entry.get("action")
    if not isinstance(action, Mapping):
        raise BrokenFile(f"{path} has no action statistics; expected mean, std, min, max, q01, q99")
    _check_mask(action.get("mask"), contract, path)
    state = entry.get("proprio", entry.get("state"))
    return _statistics(action, path), None if state is None else _statistics(state, path)


def _entry(content: Any, key: str, path: Path) -> Mapping[str, Any]:
    if not isinstance(content, dict) or not all(isinstance(one, dict) for one in content.values()):
        raise BrokenFile(f"{path} is not an object of entries by data set; download it again")
    if key:
        if key not in content:
            raise UnknownName(f"entry of {path.name}", key, content)
        found: Mapping[str, Any] = content[key]
        return found
    if len(content) != 1:
        raise BadInput(
            f"{path} has {len(content)} entries ({', '.join(sorted(content))}); name one by "
            "scaling.statistics-key"
        )
    return next(iter(content.values()))


def _check_mask(mask: Any, contract: Contract, path: Path) -> None:
    if mask is None:
        return
    unscaled = tuple(k for k, scaled in enumerate(mask) if not scaled)
    if len(mask) == len(contract.action) and unscaled != contract.layout.gripper:
        raise BadInput(
            f"{path} leaves the action numbers {unscaled} unscaled, the suite's gripper is "
            f"{contract.layout.gripper}; expected statistics of this suite"
        )


def _statistics(entry: Mapping[str, Any], path: Path) -> Statistics:
    missing = [name for name in _FIELDS if name not in entry]
    if missing:
        raise BrokenFile(f"{path} lacks {', '.join(missing)}; expected {', '.join(_FIELDS)}")
    return Statistics(**{name: _numbers(entry[name], path) for name in _FIELDS})


def _numbers(values: Any, path: Path) -> tuple[float, ...]:
    if not isinstance(values, list) or not all(is_number(one) for one in values):
        raise BrokenFile(f"{path} holds {str(values)[:60]!r}; expected a list of numbers")
    return tuple(float(one) for one in values)
