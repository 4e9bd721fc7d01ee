"""`phaser segment`: demonstrations from anywhere become named phases in stage_info.json."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from phaser.cli.arguments import Parser
from phaser.cli.reading_flags import add_reading_flags, reading_from
from phaser.cli.segment_lerobot import add_lerobot_flags, dataset_to_copy, write_copy
from phaser.cli.segment_output import Progress, Segmented, file_names, show
from phaser.cli.segment_verifier import add_verifier_flags, verifier_from
from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.core.files import require_writable, write_text
from phaser.demos.source_tasks import OpenedSources, SourceTask
from phaser.phases.autopc import AutoPC
from phaser.phases.stage_info import require_replaceable, write_stage_info
from phaser.phases.verify import Verifier, find_phases

USAGE = "phaser segment SOURCE [SOURCE …] --out stage_info.json [flags]"
EPILOG = """\
SOURCE is a simulated task or list (hammer, metaworld-10, libero-goal), a LIBERO or robomimic HDF5
file or a folder of them, or a LeRobot dataset (v2.0, v2.1, v3.0). For example
  phaser segment hammer drawer-open --out stage_info.json --plot plots
  phaser segment libero_goal/ --layout libero --turn flip-vertical --out stage_info.json
  phaser segment my_dataset/ --motion 0-5 --gripper 6 --gripper-closes falling --absolute --out F
  phaser segment my_dataset/ --layout aloha --out F --to-lerobot my_dataset_with_phases/
  phaser segment my_dataset/ --layout aloha --out stage_info.json \\
    --verify qwen2.5vl --vlm-url http://localhost:11434/v1
"""


def execute(arguments: Sequence[str]) -> int:
    chosen = _parser().parse(arguments)
    flags = reading_from(chosen)
    auto = AutoPC(boundaries=chosen.boundaries, drop_idle=chosen.drop_idle)
    verifier = verifier_from(chosen)
    require_replaceable(chosen.out, flag="--out")
    dataset = dataset_to_copy(chosen)
    # Imported here: help opens no files.
    from phaser.suites.sources import open_sources

    opened = open_sources(chosen.sources, flags)
    require_writable(chosen.out.resolve().parent)
    if chosen.plot is not None:
        require_writable(chosen.plot)
    results = _segment_all(opened, auto, verifier, chosen)
    write_stage_info(
        chosen.out, {one.task.name: one.phases.stages(one.task.instruction) for one in results}
    )
    if dataset is not None:
        write_copy(dataset, results, chosen)
    show(
        results,
        out=chosen.out,
        remarks=[*opened.remarks, *(line for one in results for line in one.remarks())],
        spending=verifier.vlm.spending if verifier else None,
        dataset=chosen.to_lerobot,
        as_json=chosen.json,
    )
    return 0


def _segment_all(
    opened: OpenedSources, auto: AutoPC, verifier: Verifier | None, chosen: Namespace
) -> list[Segmented]:
    names = file_names([one.task.name for one in opened.tasks])
    results = []
    with Progress(sum(one.num_demos for one in opened.tasks), len(opened.tasks)) as progress:
        for remark in opened.remarks:
            progress.say(f"note: {remark}")
        for one, name in zip(opened.tasks, names, strict=True):
            plot = chosen.plot / f"{name}.svg" if chosen.plot is not None else None
            results.append(_segment(one, auto, verifier, chosen.camera, plot, progress))
            for remark in results[-1].remarks():
                progress.say(f"note: {remark}")
            progress.finished(results[-1])
    return results


def _segment(
    source: SourceTask,
    auto: AutoPC,
    verifier: Verifier | None,
    camera: str | None,
    plot: Path | None,
    progress: Progress,
) -> Segmented:
    progress.starting(source)
    source.prepare(progress.recorded)
    demos = []
    for demo in source.demos():
        demos.append(demo)
        progress.read()
    task = source.task
    _require_camera(camera, demos, source)
    try:
        phases = find_phases(demos, instruction=task.instruction, auto=auto, verifier=verifier)
        if plot is not None:
            from phaser.report.phase_plot import PhasePicture, phase_picture

            picture = PhasePicture(
                task=task,
                demos=demos,
                phases=phases,
                auto=auto,
                camera=camera,
            )
            write_text(plot, phase_picture(picture))
    except BadInput as error:
        raise BadInput(f"task {task.name!r} of {source.source}: {error}") from error
    return Segmented(task=task, source=source.source, phases=phases, plot=plot)


def _require_camera(camera: str | None, demos: Sequence[Demo], source: SourceTask) -> None:
    """A camera that was asked for must be there, also where nothing would be drawn from it."""
    for demo in demos:
        if camera is not None and camera not in demo.cameras:
            known = ", ".join(sorted(demo.cameras)) or "none: there are no images"
            raise BadInput(
                f"--camera {camera}: demonstration {demo.index} of {source.task.name!r} in "
                f"{source.source} has no such camera; its cameras: {known}"
            )


def _parser() -> Parser:
    parser = Parser("segment", "Cut demonstrations into named phases.", usage=USAGE, epilog=EPILOG)
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="task, file or folder")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="stage_info.json")
    parser.add_argument(
        "--boundaries",
        choices=("per-demo", "ratio"),
        default="per-demo",
        help="fit each demonstration's own events, or copy ratios as the paper does",
    )
    idle = parser.add_mutually_exclusive_group()
    idle.add_argument(
        "--drop-no-ops",
        dest="drop_idle",
        action="store_const",
        const="always",
        default="auto",
        help="find phases without idle steps (default: where most are idle); steps stay original",
    )
    idle.add_argument(
        "--keep-no-ops",
        dest="drop_idle",
        action="store_const",
        const="never",
        help="find phases on all steps",
    )
    parser.add_argument("--plot", type=Path, metavar="DIR", help="draw one SVG per task into it")
    parser.add_argument("--camera", metavar="NAME", help="for plots and models (default: first)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    add_lerobot_flags(parser)
    add_reading_flags(parser)
    add_verifier_flags(parser)
    return parser
