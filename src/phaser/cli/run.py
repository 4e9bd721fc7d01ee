"""`phaser run`: one method, one seed, any setting. Order: default < preset < file < flag."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TextIO

from phaser.cli.arguments import (
    ALL,
    Parser,
    add_budget,
    add_kinds,
    add_phases,
    add_record,
    add_track,
    add_verbose,
    budgets_in,
    processes,
    split_first,
)
from phaser.cli.execution import (
    Notify,
    learnt_tasks,
    require_frames_for_phases,
    say_unfilmed,
    settings_folder,
    traces_in,
    watched,
)
from phaser.cli.kinds import with_kinds
from phaser.cli.output import show, write_pages
from phaser.cli.recordings import require_suite
from phaser.cli.settings import overridden, settings_help
from phaser.core.errors import BadInput
from phaser.core.files import require_writable
from phaser.core.processes import is_first_process
from phaser.core.sharding import check_launcher
from phaser.evaluation.simulators import Simulators, available_cores
from phaser.experiments.compatibility import other_commit
from phaser.experiments.finished import is_finished
from phaser.experiments.position import POSITION, Position
from phaser.experiments.presets import preset
from phaser.experiments.run import Run, run_from, settings_in, settings_of
from phaser.experiments.settings_files import layered
from phaser.experiments.traces import Traces
from phaser.methods.table import method

EPILOG = """\
On several GPUs: accelerate launch --num_processes 2 -m phaser.cli run PRESET …
Order: default < preset < file < flag. All settings of this preset and method:
"""


def execute(arguments: Sequence[str]) -> int:
    name, words = split_first(arguments)
    parser = _parser()
    if ALL in words:
        print(_help(parser, name, words))
        return 0
    chosen, rest = parser.parse_known_args(words)
    if chosen.resume is not None:
        _resume(name, chosen)
    elif not name and chosen.from_file is None:
        raise BadInput("run: name a preset, such as metaworld-quick, or a file with --from")
    run = overridden(start(name, chosen), rest, verb="run", flags=parser.flags())
    if chosen.phases is not None:
        run = run.with_phases(chosen.phases)
    check_launcher(
        run.method.name,
        reads_gradient=run.method.reads_gradient,
        asks_in_training=run.method.asks_in_training,
    )
    out = settings_folder(chosen.out, run.preset, run.name)
    traces = traces_in(chosen, run)
    if not is_first_process():
        return _beside(run, out, chosen.simulators, traces)
    require_writable(out)
    stream = sys.stderr if chosen.json else sys.stdout
    if is_finished(run, out):
        say_unfilmed([out], traces, lambda line: print(line, file=stream))
        print(f"{out} is finished already; its result:", file=stream)
    else:
        for line in (*_whose_stream(run), *_where_it_stands(run, out)):
            print(line, file=stream)
        _work(run, out, chosen, traces, stream)
    show(write_pages([out], out / "report.html"), as_json=chosen.json, folder=str(out))
    return 0


def _work(run: Run, out: Path, chosen: Namespace, traces: Traces, stream: TextIO) -> None:
    """Run the cell, watched."""
    require_suite(run)
    learnt = learnt_tasks(run, out)
    require_frames_for_phases([run], lambda line: print(line, file=stream), learnt=learnt)

    def work(notify: Notify) -> None:
        # Imported when progress is on the screen: torch takes seconds to load.
        from phaser.experiments.cell import run_cell

        tell = partial(notify, run.name)
        run_cell(run, out, tell, simulators=simulators, traces=traces)

    with _simulators(chosen) as simulators:
        watched(
            [run],
            work,
            num_workers=chosen.workers,
            to_stderr=chosen.json,
            learnt=learnt,
            verbose=chosen.verbose,
        )


def _simulators(chosen: Namespace) -> AbstractContextManager[Simulators]:
    """Simulators of this machine, or of the Ray cluster that was named."""
    if chosen.address is None:
        return Simulators(chosen.simulators)
    from phaser.experiments.ray_simulators import simulators_on_ray

    return simulators_on_ray(chosen.simulators, chosen.address)


def _beside(run: Run, out: Path, num_simulators: int, traces: Traces) -> int:
    """Train along with the first process, which alone writes, records and talks."""
    if not is_finished(run, out):
        from phaser.experiments.cell import run_cell

        with Simulators(num_simulators) as simulators:
            run_cell(run, out, simulators=simulators, traces=traces)
    return 0


def _resume(name: str, chosen: Namespace) -> None:
    """`--resume DIR` is short for `--from DIR/run.json --out DIR`."""
    folder: Path = chosen.resume
    if name or chosen.from_file is not None or chosen.out is not None:
        raise BadInput("run: --resume takes preset, --from and --out from the folder; leave them")
    if not (folder / "run.json").is_file():
        raise BadInput(f"{folder} holds no run to go on with; expected a folder with run.json")
    chosen.from_file, chosen.out = folder / "run.json", folder


def _whose_stream(run: Run) -> Iterator[str]:
    """Tell a reader who expects that each seed draws a stream of tasks where it does not."""
    if run.suite != run.suite.for_seed(run.seed):
        yield fill(
            f"The stream of tasks is not that of seed {run.seed}: --suite.stream names it. All "
            "seeds with the same number learn the same tasks in the same order.",
            79,
        )


def _where_it_stands(run: Run, out: Path) -> Iterator[str]:
    """Where an interrupted run goes on, and what a reader of its numbers should know."""
    if not (out / POSITION).exists():
        return
    at = Position.read(out / POSITION)
    tasks = run.suite.tasks()
    if run.method.joint or at.task_index == len(tasks):
        where = f"step {at.step}" if at.step else "the last files"
    else:
        name = tasks[at.task_index].name
        where = f"task {at.task_index + 1}/{len(tasks)} {name}, step {at.step}"
    yield f"{out} was interrupted; it goes on from {where}."
    if begun := other_commit(out):
        yield f"It was begun with other code ({begun}); run.json notes both."


def start(name: str, chosen: Namespace) -> Run:
    """The run before its nested flags: preset, then file, names of kinds, budget, --seed."""
    run = preset(name) if name else Run()
    if chosen.from_file is not None:
        run = _with_file(run, chosen.from_file)
    if chosen.phases is not None:
        # They take the place of the preset's, which may know other tasks than flags choose.
        run = replace(run, phases=())
    if chosen.method is not None:
        run = run.with_method(method(chosen.method))
    run = with_kinds(run, chosen)
    for budget in budgets_in(chosen):
        run = run.with_budget(budget)
    return run if chosen.seed is None else run.with_seed(chosen.seed)


def _parser() -> Parser:
    parser = Parser(
        "run",
        "Learn a stream of tasks with one method and one seed.",
        usage="phaser run PRESET [--method NAME] [--budget N] [--seed S] [flags]\n"
        "       phaser run --resume DIR",
        epilog=EPILOG,
    )
    parser.add_argument("--method", metavar="NAME", help="see phaser methods (default: phaser)")
    add_budget(parser)
    add_phases(parser)
    add_kinds(parser, rules=True)
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the run (default: 0)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="default: runs/PRESET/METHOD-BUDGET-ORDER-SEED"
    )
    parser.add_argument(
        "--from",
        dest="from_file",
        type=Path,
        metavar="FILE",
        help="settings from the run.json of another run; PRESET may be left out",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="DIR",
        help="go on with the interrupted run in DIR; so does calling the same command again",
    )
    parser.add_argument(
        "--workers", type=processes, default=2, help="processes that record (default: 2)"
    )
    parser.add_argument(
        "--simulators",
        type=processes,
        default=min(2, available_cores()),
        help="simulator processes; results do not depend on it (default: %(default)s)",
    )
    parser.add_argument(
        "--address",
        metavar="HOST",
        help="simulators on the nodes of a Ray cluster: auto, or ray://HOST:10001 (extra: ray)",
    )
    add_verbose(parser)
    add_record(parser)
    add_track(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    return parser


def _help(parser: Parser, name: str, words: Sequence[str]) -> str:
    asked = [word for word in words if word != ALL]
    chosen, _ = parser.parse_known_args(asked)
    run = start(name or "metaworld-quick", chosen)
    return parser.format_help() + settings_help(run, verb="run")


def _with_file(run: Run, path: Path) -> Run:
    return run_from(layered(settings_of(run), settings_in(path)), source=str(path))
