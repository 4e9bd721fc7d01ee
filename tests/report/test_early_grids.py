"""`phaser grid --stop-early` on made-up cells: no seeds beyond a decision, none left out before."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from phaser.cli import main
from phaser.cli.early import judged_by, still_needed, until_decided
from phaser.cli.output import write_pages
from phaser.evaluation.sequential import Sequential, sequential
from phaser.experiments.axes import Axes
from phaser.experiments.presets import preset
from phaser.experiments.run import Run

WriteRun = Callable[..., Path]
SOLVED = {"sequential": (0, 1), "er": (3, 4), "er-even": (3, 4), "phaser": (6, 7)}
METHODS = ("sequential", "er", "er-even", "phaser")


class MadeUpGrid:
    """Cells whose results are written down instead of run."""

    def __init__(self, write_run: WriteRun, page: Path, *, seeds: int) -> None:
        self._write, self._page = write_run, page
        self.folders: dict[str, Path] = {}
        self.said: list[str] = []
        axes = Axes(methods=METHODS, seeds=tuple(range(seeds)))
        self.cells = axes.cells(preset("metaworld-10"))

    def run(self, cells: Sequence[Run]) -> None:
        for cell in cells:
            first, second = SOLVED[cell.method_name]
            # er-even is now above er, now below it.
            shift = (-1) ** cell.seed if cell.method_name == "er-even" else 0
            tasks = (f"first-{cell.seed}", f"second-{cell.seed}")
            self.folders[cell.name] = self._write(
                cell.method_name, cell.seed, tasks=tasks, final=(first, second + shift)
            )

    def judge(self, cells: Sequence[Run]) -> Mapping[tuple[str, str], Sequential]:
        return judged_by(write_pages([self.folders[cell.name] for cell in cells], self._page))

    def until_decided(self) -> list[Run]:
        return until_decided(self.cells, self.run, self.judge, self.said.append)


def test_a_decided_method_gets_no_further_seed_and_an_undecided_one_does(
    write_run: WriteRun, tmp_path: Path
) -> None:
    grid = MadeUpGrid(write_run, tmp_path / "page.html", seeds=12)
    begun = grid.until_decided()
    seeds = {name: [one.seed for one in begun if one.method_name == name] for name in METHODS}
    # Three comparisons share the 5 %: a wealth of 60 decides each.
    after = sequential([0.3] * 12, num_contrasts=3).decided_after
    assert after is not None
    assert after < 12
    assert seeds["phaser"] == list(range(after))
    assert seeds["er"] == seeds["er-even"] == seeds["sequential"] == list(range(12))
    assert grid.said[-1] == f"{12 - after} of 48 cells are not run: what they compare is decided."
    # What was left out would not have changed what was found.
    assert grid.judge(begun)["phaser", "er"].decided_after == after


def test_a_grid_ends_when_all_its_comparisons_are_decided(
    write_run: WriteRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SOLVED, "er-even", (9, 9))
    grid = MadeUpGrid(write_run, tmp_path / "page.html", seeds=12)
    begun = grid.until_decided()
    assert len({one.seed for one in begun}) < 12
    assert all(one.is_decided for one in grid.judge(begun).values())


def test_equal_methods_are_run_to_the_end(write_run: WriteRun, tmp_path: Path) -> None:
    grid = MadeUpGrid(write_run, tmp_path / "page.html", seeds=3)
    assert len(grid.until_decided()) == 12
    assert "not run" not in grid.said[-1]


def test_looking_after_every_seed_stops_exactly_where_the_simulated_test_decides() -> None:
    """Its error under peeking is simulated in tests/evaluation; the grid adds no other rule."""
    random = np.random.default_rng(7)
    stops = []
    for drift in (0.0, 0.0, 0.05, 0.1, 0.2):
        differences = (random.choice([-0.1, 0.1], size=14) + drift).tolist()
        needed, stopped = {"er", "phaser"}, None
        for seeds in range(1, 15):
            needed = still_needed(needed, {("phaser", "er"): sequential(differences[:seeds])})
            if not needed:
                stopped = seeds
                break
        stops.append(stopped)
        assert stopped == sequential(differences).decided_after
    assert stops[-1] is not None
    assert None in stops


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--methods", "phaser", "sequential"], "compares methods with er or er-even"),
        (["--orders", "default", "reverse"], "leave out --orders"),
        (["--axis", "fit.batch_size", "32", "64"], "leave out --orders, --streams and --axis"),
    ],
)
def test_a_grid_without_a_question_is_refused(
    words: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["grid", "metaworld-10", "--stop-early", "--out", str(tmp_path / "out"), *words]
    assert main.execute(command) == 2
    assert expected in capsys.readouterr().err
