"""`phaser segment --to-lerobot OUT`: a copy of a LeRobot dataset that carries the phases."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from phaser.cli.arguments import Parser
from phaser.cli.segment_output import Segmented
from phaser.core.errors import BadInput
from phaser.core.files import require_writable
from phaser.phases.lerobot_export import Form, write_phases


def add_lerobot_flags(parser: Parser) -> None:
    lerobot = parser.add_argument_group("LeRobot")
    lerobot.add_argument(
        "--to-lerobot",
        type=Path,
        metavar="OUT",
        help="write a copy of the LeRobot dataset SOURCE with the phases in it",
    )
    lerobot.add_argument(
        "--lerobot-form",
        choices=get_args(Form),
        default="subtasks",
        help="subtask_index, which LeRobot 0.4 to 0.6 open (default); language_persistent, which "
        "only 0.6 opens; or both",
    )


def dataset_to_copy(chosen: Namespace) -> Path | None:
    """The dataset that gets a copy with phases; None where none was asked for."""
    if chosen.to_lerobot is None:
        return None
    first = Path(chosen.sources[0])
    if len(chosen.sources) > 1 or not (first / "meta" / "info.json").is_file():
        raise BadInput(
            f"--to-lerobot copies one LeRobot dataset, but SOURCE is "
            f"{', '.join(chosen.sources)}; segment the datasets one by one"
        )
    if chosen.to_lerobot.exists():
        raise BadInput(f"{chosen.to_lerobot} exists already; choose a new folder with --to-lerobot")
    require_writable(chosen.to_lerobot.resolve().parent)
    return first


def write_copy(dataset: Path, results: Sequence[Segmented], chosen: Namespace) -> None:
    """Write the copy, with the phases of all tasks of the dataset."""
    phases = {
        number: cut
        for one in results
        for number, cut in zip(one.phases.demos, one.phases.segmentations, strict=True)
    }
    found_by = ", ".join(sorted({one.phases.source for one in results}))
    write_phases(dataset, chosen.to_lerobot, phases, source=found_by, form=chosen.lerobot_form)
