"""`--stop-early`: a comparison that may be looked at after every stream, in report and grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from textwrap import fill
from typing import TYPE_CHECKING, Any

from phaser.core.errors import BadInput

if TYPE_CHECKING:
    from phaser.cli.arguments import Parser
    from phaser.cli.output import Pages
    from phaser.evaluation.sequential import Sequential
    from phaser.experiments.axes import Axes
    from phaser.experiments.run import Run
    from phaser.report.contrasts import Pair


def add_stop_early(parser: Parser) -> None:
    """The flag of a grid."""
    parser.add_argument(
        "--stop-early",
        action="store_true",
        help="run seed after seed; methods whose comparisons with er and er-even are decided get "
        "no further seed (valid however often one looks: 5 %% over all)",
    )


def early_of(pages: Pages) -> dict[str, Any]:
    """Says if one may stop, as lines for a terminal and as values for JSON."""
    from phaser.report.early_stop import lines

    found = judged_by(pages)
    values = [
        {"method": method, "baseline": other, "stop": one.is_decided, **asdict(one)}
        for (method, other), one in found.items()
    ]
    return {"stop_early": values, "lines": lines(found)}


def for_terminal(lines: Sequence[str]) -> str:
    """The lines in 80 columns, below an empty one."""
    return "\n" + "\n".join(fill(line, 80, subsequent_indent="  ") for line in lines)


def judged_by(pages: Pages) -> dict[Pair, Sequential]:
    """Every comparison of the pages, judged so that looking again is allowed."""
    from phaser.report.early_stop import judged

    return judged([summary for _, summary in pages.reports], pages.curves)


def require_comparison(axes: Axes, cells: Sequence[Run]) -> None:
    """Refuse a grid of which no question about methods can be decided seed by seed."""
    from phaser.report.contrasts import BASELINES, BOUNDS

    if axes.orders or axes.streams or axes.settings:
        raise BadInput(
            "grid: --stop-early compares methods over seeds and budgets; leave out --orders, "
            "--streams and --axis"
        )
    methods = {cell.method_name for cell in cells} - {*BOUNDS}
    if len(methods) < 2 or not methods & {*BASELINES}:
        raise BadInput(
            f"grid: --stop-early compares methods with {' or '.join(BASELINES)}; name one of them "
            "and another method with --methods"
        )


def until_decided(
    cells: Sequence[Run],
    run: Callable[[Sequence[Run]], object],
    judge: Callable[[Sequence[Run]], Mapping[Pair, Sequential]],
    say: Callable[[str], None],
) -> list[Run]:
    """Run seed after seed; a method whose comparisons are all decided gets no further seed.

    Args:
        cells: all cells that may be run.
        run: runs some of them.
        judge: judges the comparisons from the cells that were run.
        say: told what begins and what is left out.

    Returns:
        The cells that were run.
    """
    begun: list[Run] = []
    needed = {cell.method_name for cell in cells}
    rounds = list(_by_seed(cells))
    for number, (seed, group) in enumerate(rounds, 1):
        chosen = [cell for cell in group if cell.method_name in needed]
        names = ", ".join(dict.fromkeys(cell.method_name for cell in chosen))
        say(f"Seed {seed}, the {number}. of at most {len(rounds)}: {names}.")
        run(chosen)
        begun += chosen
        found = judge(begun)
        needed = still_needed(needed, found)
        if not needed:
            break
    if left_out := len(cells) - len(begun):
        say(f"{left_out} of {len(cells)} cells are not run: what they compare is decided.")
    return begun


def still_needed(methods: set[str], found: Mapping[Pair, Sequential]) -> set[str]:
    """Methods of which something is undecided; bounds go along while anything is."""
    if not found:
        return methods
    undecided = {name for pair, one in found.items() if not one.is_decided for name in pair}
    settled = {name for pair in found for name in pair} - undecided
    return methods - settled if undecided else set()


def _by_seed(cells: Sequence[Run]) -> Iterator[tuple[int, list[Run]]]:
    """The cells of each seed, in the order in which streams count."""
    for seed in sorted({cell.seed for cell in cells}):
        yield seed, [cell for cell in cells if cell.seed == seed]
