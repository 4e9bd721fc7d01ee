"""`phaser annotate`: mark phases in a browser, from Auto-PC's candidates on."""

from __future__ import annotations

import getpass
import sys
import webbrowser
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from phaser.cli.arguments import Parser, steps
from phaser.cli.reading_flags import add_reading_flags, reading_from
from phaser.cli.segment_output import Progress
from phaser.cli.segment_verifier import add_verifier_flags, verifier_from
from phaser.core.errors import BadInput, MissingDependency
from phaser.core.files import require_writable
from phaser.demos.source_tasks import OpenedSources
from phaser.phases.autopc import AutoPC

if TYPE_CHECKING:
    from phaser.annotate.beside import Beside
    from phaser.annotate.lerobot_copy import LeRobotCopy

USAGE = "phaser annotate SOURCE [SOURCE …] [--stage-info FILE] [flags]"
EPILOG = """\
SOURCE is as in `phaser segment`: a simulated task or list, a LIBERO or robomimic HDF5 file or a
folder of them, or a LeRobot dataset. Every change is saved at once; press ? on the page for the
keys, and Ctrl-C here to end. For example
  phaser annotate hammer drawer-open
  phaser annotate libero_goal/ --layout libero --turn flip-vertical --stage-info goal.json
  phaser annotate my_dataset/ --layout aloha --beside bob.json --lerobot my_dataset_with_phases
  phaser annotate hammer --verify qwen2.5vl --vlm-url http://localhost:11434/v1
"""


def execute(arguments: Sequence[str]) -> int:
    chosen = _parser().parse(arguments)
    _require_server()
    from phaser.annotate.server import serve
    from phaser.annotate.service import Aids, Service
    from phaser.annotate.workspace import open_workspace
    from phaser.suites.sources import open_sources

    flags = reading_from(chosen)
    verifier = verifier_from(chosen)
    beside = _beside(chosen)
    opened = open_sources(chosen.sources, flags)
    path = chosen.stage_info.resolve()
    require_writable(path.parent)
    lerobot = _lerobot(chosen, opened)
    _record_missing(opened)
    with open_workspace(path, who=chosen.who) as (workspace, remarks):
        for remark in [*opened.remarks, *remarks]:
            print(f"note: {remark}", file=sys.stderr)
        aids = Aids(beside=beside, verifier=verifier, lerobot=lerobot)
        service = Service(opened.tasks, workspace, AutoPC(), aids)
        with suppress(KeyboardInterrupt):
            serve(service, port=chosen.port, ready=lambda address: _ready(address, path, chosen))
    return 0


def _beside(chosen: Namespace) -> Beside | None:
    if chosen.beside is None:
        return None
    if chosen.beside.resolve() == chosen.stage_info.resolve():
        raise BadInput("--beside and --stage-info name one file; expected two annotations")
    from phaser.annotate.beside import Beside

    return Beside(chosen.beside)


def _lerobot(chosen: Namespace, opened: OpenedSources) -> LeRobotCopy | None:
    if chosen.lerobot is None:
        return None
    from phaser.annotate.lerobot_copy import LeRobotCopy, datasets_of

    # Refused now, before anybody has worked for it.
    datasets_of(opened.tasks)
    require_writable(chosen.lerobot.resolve().parent)
    return LeRobotCopy(out=chosen.lerobot.resolve(), form=chosen.lerobot_form)


def _record_missing(opened: OpenedSources) -> None:
    """Scripted experts that nobody has recorded yet are recorded before the page opens."""
    missing = [one for one in opened.tasks if one.num_missing]
    if missing:
        with Progress(len(missing), len(missing)) as progress:
            for one in missing:
                progress.starting(one)
                one.prepare(progress.recorded)
                progress.read()


def _ready(address: str, path: Path, chosen: Namespace) -> None:
    print(f"annotating into {path}\nopen {address}\n(Ctrl-C ends; all is saved)", flush=True)
    if not chosen.no_browser:
        webbrowser.open(address)


def _require_server() -> None:
    from importlib.util import find_spec

    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise MissingDependency(
                f"{package} is not installed; run: pip install 'phaser-vla[annotate]'"
            )


def _parser() -> Parser:
    parser = Parser(
        "annotate", "Mark the phases of demonstrations in a browser.", usage=USAGE, epilog=EPILOG
    )
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="task, file or folder")
    parser.add_argument(
        "--stage-info",
        type=Path,
        default=Path("stage_info.json"),
        metavar="FILE",
        help="the annotation, begun or gone on with (default: stage_info.json)",
    )
    parser.add_argument(
        "--who", default=getpass.getuser(), metavar="NAME", help="who annotates (default: you)"
    )
    parser.add_argument(
        "--port",
        type=steps,
        default=0,
        metavar="N",
        help="on this machine only (default: a free one)",
    )
    parser.add_argument(
        "--beside", type=Path, metavar="FILE", help="another annotator's file, shown beside yours"
    )
    parser.add_argument(
        "--lerobot",
        type=Path,
        metavar="DIR",
        help="where the page may write a copy of a LeRobot dataset with subtask columns",
    )
    parser.add_argument(
        "--lerobot-form",
        choices=("subtasks", "language"),
        default="subtasks",
        help="for LeRobot 0.4 and 0.5, or for 0.6 (default: subtasks)",
    )
    parser.add_argument("--camera", metavar="NAME", help="for a model (default: first)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    add_reading_flags(parser)
    add_verifier_flags(parser)
    return parser
