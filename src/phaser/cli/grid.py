"""`phaser grid`: methods × seeds × budgets × any other setting; finished cells are skipped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
from phaser.cli.early import add_stop_early, judged_by, require_comparison, until_decided
from phaser.cli.engines import add_engine, engine_of
from phaser.cli.execution import (
    Notify,
    learnt_tasks,
    require_frames_for_phases,
    say_unfilmed,
    settings_folder,
    traces_in,
    watched,
)
from phaser.cli.grid_axes import HIDDEN, grid_of
from phaser.cli.grid_pages import say_failures, write_and_show
from phaser.cli.output import write_pages
from phaser.cli.recordings import require_suite
from phaser.cli.settings import settings_help
from phaser.core.errors import BadInput
from phaser.core.files import require_writable
from phaser.core.processes import require_one_process
from phaser.experiments.events import Failed
from phaser.experiments.finished import check_budgets, is_finished
from phaser.experiments.grid import CellsFailed, Engine, run_grid
from phaser.experiments.grid_file import DEFAULT_METHODS, GRID, write_grid
from phaser.experiments.presets import preset
from phaser.experiments.run import Run
from phaser.experiments.traces import Traces

if TYPE_CHECKING:
    from phaser.evaluation.sequential import Sequential
    from phaser.report.contrasts import Pair

EPILOG = """\
Any setting is an axis: --axis fit.learning_rate 1e-3 2e-3 --axis method.draw.temperature 0.5 1
Every grid writes grid.toml, which can be committed: phaser grid --from grid.toml runs it again.
Settings that all cells share are flags as well, all of them:
"""


def execute(arguments: Sequence[str]) -> int:
    require_one_process("grid")
    name, words = split_first(arguments)
    parser = _parser()
    if ALL in words:
        base = preset(name or "metaworld-10")
        print(parser.format_help() + settings_help(base, verb="grid", hidden=HIDDEN))
        return 0
    chosen, rest = parser.parse_known_args(words)
    if not name and chosen.from_file is None:
        raise BadInput("grid: name a preset, such as metaworld-10, or a file with --from")
    grid = grid_of(name, chosen, rest, flags=parser.flags())
    cells = grid.cells()
    if chosen.stop_early:
        require_comparison(grid.axes, cells)
    out = settings_folder(chosen.out, grid.base.preset)
    require_writable(out)
    write_grid(grid, out / GRID)
    tolerance = chosen.budget_tolerance
    run = partial(
        run_cells,
        out=out,
        num_workers=chosen.workers,
        to_stderr=chosen.json,
        budget_tolerance=tolerance,
        verbose=chosen.verbose,
        traces=traces_in(chosen, grid.base),
        engine=engine_of(chosen),
    )
    code, failed = 0, None
    try:
        if chosen.stop_early:
            say = partial(print, file=sys.stderr if chosen.json else sys.stdout, flush=True)
            folders = _seed_by_seed(cells, run, out, say, tolerance=tolerance)
        else:
            folders = run(cells)
    except CellsFailed as error:
        folders, failed, code = error.finished, error, error.exit_code
    write_and_show(
        cells,
        folders,
        out,
        budget_tolerance=tolerance,
        as_json=chosen.json,
        stop_early=chosen.stop_early,
    )
    if failed is not None:
        say_failures(failed)
    return code


def _seed_by_seed(
    cells: Sequence[Run],
    run: Callable[[Sequence[Run]], list[Path]],
    out: Path,
    say: Callable[[str], None],
    *,
    tolerance: float,
) -> list[Path]:
    """Run what is needed until the comparisons are decided; what fails does not stop the rest."""
    failures: dict[str, Failed] = {}

    def tried(some: Sequence[Run]) -> None:
        try:
            run(some)
        except CellsFailed as error:
            failures.update(error.failures)

    def finished(some: Sequence[Run]) -> list[Path]:
        return [out / cell.name for cell in some if cell.name not in failures]

    def judge(begun: Sequence[Run]) -> Mapping[Pair, Sequential]:
        if not (there := finished(begun)):
            return {}
        return judged_by(write_pages(there, out / "report.html", budget_tolerance=tolerance))

    begun = until_decided(cells, tried, judge, say)
    if failures:
        raise CellsFailed(failures, finished(begun))
    return finished(begun)


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
    if traces is not None:
        finished = [out / cell.name for cell in cells if cell not in todo]
        say_unfilmed(finished, traces, say)
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
    usual = f"default: {' '.join(DEFAULT_METHODS)}"
    parser.add_argument("--methods", nargs="+", metavar="NAME", help=usual)
    parser.add_argument("--seeds", nargs="+", metavar="S", help="0 1 2, or 0-7 (default: 0)")
    add_budget(parser, several=True)
    known = "default, reverse, shuffled(N)"
    parser.add_argument("--orders", nargs="+", metavar="ORDER", help=known)
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
    add_stop_early(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: runs/PRESET")
    add_engine(parser)
    add_verbose(parser)
    add_record(parser)
    add_track(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    return parser
