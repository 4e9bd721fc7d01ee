"""`phaser record`: record and encode the demonstrations of a preset in advance."""

from __future__ import annotations

from collections.abc import Sequence

from phaser.cli.arguments import ALL, Parser, add_kinds, processes, split_first
from phaser.core.errors import BadInput
from phaser.experiments.presets import preset

HIDDEN = ("method", "fit", "evaluation", "budget", "storage")


def execute(arguments: Sequence[str]) -> int:
    name, words = split_first(arguments)
    parser = Parser(
        "record",
        "Record scripted experts for every task of a preset and encode what they see.",
        usage="phaser record PRESET [--workers N] [flags]",
        epilog="All settings: phaser record PRESET --help-all",
    )
    add_kinds(parser, rules=False)
    parser.add_argument("--workers", type=processes, default=2, help="processes (default: 2)")
    if "-h" in words or "--help" in words:
        print(parser.format_help())
        return 0
    # Imported here: help needs none of it.
    from phaser.cli.kinds import with_kinds
    from phaser.cli.progress import Watch
    from phaser.cli.recordings import BackgroundRecorder, require_suite
    from phaser.cli.settings import overridden, settings_help

    if ALL in words:
        run = preset(name or "metaworld-10")
        print(parser.format_help() + "\n" + settings_help(run, verb="record", hidden=HIDDEN))
        return 0
    chosen, rest = parser.parse_known_args(words)
    if not name:
        raise BadInput("record: name a preset first, such as metaworld-10; see phaser presets")
    start = with_kinds(preset(name), chosen)
    run = overridden(start, rest, verb="record", flags=parser.flags(), hidden=HIDDEN)
    require_suite(run)
    tasks = run.suite.tasks()
    workers = chosen.workers
    with (
        Watch([], num_workers=workers) as watch,
        BackgroundRecorder([(run, tasks)], watch, num_workers=workers),
    ):
        pass
    print(f"{len(tasks)} tasks are recorded and encoded in {run.suite.cache}")
    return 0
