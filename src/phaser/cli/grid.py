"""`phaser grid`: methods × seeds × budgets × any other setting; finished cells are skipped."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from phaser.cli.arguments import (
    ALL,
    Parser,
    add_budget,
    add_budget_tolerance,
    add_kinds,
    add_phases,
    add_record,
    add_track,
    add_verbose,
    split_first,
)
from phaser.cli.engines import add_engine, engine_of
from phaser.cli.execution import (
    Notify,
    learnt_tasks,
    require_frames_for_phases,
    settings_folder,
    traces_in,
    watched,
)
from phaser.cli.grid_axes import HIDDEN, grid_of
from phaser.cli.grid_pages import say_failures, write_and_show
from phaser.cli.recordings import require_suite
from phaser.cli.settings import settings_help
from phaser.core.errors import BadInput
from phaser.core.files import require_writable
from phaser.core.processes import require_one_process
from phaser.experiments.finished import check_budgets, is_finished
from phaser.experiments.grid import CellsFailed, Engine, run_grid
from phaser.experiments.grid_file import DEFAULT_METHODS, GRID, write_grid
from phaser.experiments.presets import preset
from phaser.experiments.run import Run
from phaser.experiments.traces import Traces

SHORT = """\
usage: phaser grid PRESET [flags]         methods x seeds x budgets
       phaser grid --from grid.toml       the same grid again

axes     --methods A B                    default: sequential er phaser
         --seeds 0-7                      default: 0
         --budgets 10 20 50               frames kept per task (default: 20)
         --alternate-order                odd seeds learn the tasks in reverse
         --orders default reverse         --streams 0-3
         --axis fit.batch_size 32 64      any setting is an axis
all      --phases FILE                    phases by hand instead of Auto-PC's
         --policy NAME                    tiny, openvla-oft, qwen-gr00t, ...
         --suite.task-list A B            other tasks
         --fit.steps-per-task N           --fit.rehearsed-share X
         --evaluation.rollouts-per-task N --evaluation.earlier-rollouts N
files    --out DIR                        default: runs/PRESET
         --record N                       film the first N rollouts of each task
machine  --workers N                      cells at a time (default: 2)
         --engine ray --address auto      on a Ray cluster
output   --verbose  --json                --track tensorboard

All flags and settings: phaser grid PRESET --help-all
"""
"""What people change, on one screen."""

EPILOG = """\
Any setting is an axis: --axis fit.learning_rate 1e-3 2e-3 --axis method.draw.temperature 0.5 1
Every grid writes grid.toml, which can be committed: phaser grid --from grid.toml runs it again.
Settings that all cells share are flags as well, all of them:
"""


def execute(arguments: Sequence[str]) -> int:
    require_one_process("grid")
    name, words = split_first(arguments)
    parser = _parser()
    if "-h" in words or "--help" in words:
        print(SHORT, end="")
        return 0
    if ALL in words:
        base = preset(name or "metaworld-10")
        print(parser.format_help() + settings_help(base, verb="grid", hidden=HIDDEN))
        return 0
    chosen, rest = parser.parse_known_args(words)
    if not name and chosen.from_file is None:
        raise BadInput("grid: name a preset, such as metaworld-10, or a file with --from")
    grid = grid_of(name, chosen, rest, flags=parser.flags())
    cells = grid.cells()
    out = settings_folder(chosen.out, grid.base.preset)
    require_writable(out)
    write_grid(grid, out / GRID)
    tolerance = chosen.budget_tolerance
    code, failed = 0, None
    try:
        folders = run_cells(
            cells,
            out,
            num_workers=chosen.workers,
            to_stderr=chosen.json,
            budget_tolerance=tolerance,
            verbose=chosen.verbose,
            traces=traces_in(chosen, grid.base),
            engine=engine_of(chosen),
        )
    except CellsFailed as error:
        folders, failed, code = error.finished, error, error.exit_code
    write_and_show(cells, folders, out, budget_tolerance=tolerance, as_json=chosen.json)
    if failed is not None:
        say_failures(failed)
    return code


def run_cells(
    cells: Sequence[Run],
    out: Path,
    *,
    num_workers: int,
    to_stderr: bool,
    budget_tolerance: float = 0.01,
    verbose: bool = False,
    traces: Traces | None = None,
    engine: Engine | None = None,
) -> list[Path]:
    """Say what is there already, run the rest, watched."""
    todo = [cell for cell in cells if not is_finished(cell, out / cell.name)]
    say = partial(print, file=sys.stderr if to_stderr else sys.stdout, flush=True)
    if len(todo) < len(cells):
        say(f"{len(cells) - len(todo)} of {len(cells)} cells are finished in {out} and are reused.")
    if not todo:
        check_budgets([out / cell.name for cell in cells], tolerance=budget_tolerance)
        return [out / cell.name for cell in cells]
    if engine is None:
        require_suite(todo[0])
    learnt = frozenset.intersection(*(learnt_tasks(cell, out / cell.name) for cell in todo))
    require_frames_for_phases(todo, say, learnt=learnt)

    def work(notify: Notify) -> None:
        run_grid(
            cells,
            out,
            notify,
            num_workers=num_workers,
            budget_tolerance=budget_tolerance,
            traces=traces,
            engine=engine,
        )

    watched(
        todo,
        work,
        num_workers=num_workers,
        to_stderr=to_stderr,
        learnt=learnt,
        verbose=verbose,
        records=engine is None,
    )
    return [out / cell.name for cell in cells]


def _parser() -> Parser:
    parser = Parser(
        "grid",
        "Run every method with every seed and budget. Call it again to go on where it stopped.",
        usage="phaser grid PRESET [--methods A B …] [--seeds 0-7] "
        "[--budgets 20 | --budget-bytes 200000]\n"
        "                          [--axis SETTING VALUE …] [flags]\n"
        "       phaser grid --from grid.toml [flags]",
        epilog=EPILOG,
    )
    defaults = " ".join(DEFAULT_METHODS)
    parser.add_argument("--methods", nargs="+", metavar="NAME", help=f"default: {defaults}")
    parser.add_argument("--seeds", nargs="+", metavar="S", help="0 1 2, or 0-7 (default: 0)")
    add_budget(parser, several=True)
    parser.add_argument(
        "--orders", nargs="+", metavar="ORDER", help="default, reverse, shuffled(N)"
    )
    parser.add_argument(
        "--alternate-order", action="store_true", help="odd seeds learn the tasks in reverse"
    )
    parser.add_argument(
        "--streams",
        nargs="+",
        metavar="N",
        help="streams of random tasks apart from seeds; without it each seed has its own",
    )
    parser.add_argument(
        "--axis",
        nargs="+",
        action="append",
        metavar=("SETTING", "VALUE"),
        help="any other setting and its values; may be given several times",
    )
    parser.add_argument(
        "--from",
        dest="from_file",
        type=Path,
        metavar="FILE",
        help="a grid.toml; flags are stronger, and PRESET may be left out",
    )
    add_phases(parser)
    add_kinds(parser, rules=False)
    add_budget_tolerance(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: runs/PRESET")
    add_engine(parser)
    add_verbose(parser)
    add_record(parser)
    add_track(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    return parser
