"""A newcomer's first minutes for real: `phaser demo --quick` on Meta-World from an empty cache.

It begins in a terminal of 80 × 24, is stopped with Ctrl-C when the first task is learnt, and the
same command then goes on to the end without a terminal. So all of it is seen once, each part in
one of the two ways, and the whole costs little more than one demo.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from terminal_film import COLUMNS, Film, Frame, filmed

from phaser.cli import main

pytestmark = pytest.mark.slow
WORDS = ["demo", "--quick", "--out", "out"]
LONGEST_BLANK_S, LONGEST_GAP_S = 2.0, 30.0


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder, and an environment in which nothing was ever recorded."""
    folder = tmp_path_factory.mktemp("newcomer")
    own = {
        "PYTHONPATH": str(Path(main.__file__).parents[2]),
        "PHASER_CACHE": str(folder / "cache"),
        "TERM": "xterm",
        "PYTHONIOENCODING": "utf-8",
        "OMP_NUM_THREADS": "1",
    }
    return folder, {**os.environ, **own}


@pytest.fixture(scope="module")
def film(newcomer: tuple[Path, dict[str, str]]) -> Film:
    folder, environment = newcomer
    found = filmed(WORDS, folder, environment, longest_s=1500, interrupt=_both_have_learnt_a_task)
    assert found.exit_code is not None, "\n".join(found.frames[-1])
    return found


def _both_have_learnt_a_task(frame: Frame) -> bool:
    return all(
        any(re.match(rf"{method} +1/4 ", line) for line in frame)
        for method in ("sequential", "phaser")
    )


class Log:
    """The lines that came through a pipe, and when."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        begun = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "phaser.cli", *WORDS],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env=environment,
        )
        assert process.stdout is not None
        self.times, self.lines = [begun], []
        with process.stdout:
            for line in process.stdout:
                self.times.append(time.monotonic())
                self.lines.append(line.rstrip("\n"))
        self.times.append(time.monotonic())
        self.exit_code = process.wait()


@pytest.fixture(scope="module")
def log(film: Film, newcomer: tuple[Path, dict[str, str]]) -> Log:
    return Log(*newcomer)


def test_the_terminal_is_never_blank_and_no_line_is_blank_or_cut(film: Film) -> None:
    assert film.longest_blank_s() <= LONGEST_BLANK_S
    seen = list(film.seen())
    assert len(seen) > 20
    for frame in seen:
        text = "\n".join(frame).rstrip()
        # One empty line stands between the introduction and what is going on.
        progress = re.split(r"\nResults: .*\n\n", text)[-1]
        if progress != text:
            assert "\n\n" not in progress, text
        for line in frame:
            assert "…" not in line
            assert len(line) < COLUMNS or "/" in line, line


def test_what_is_recorded_learnt_and_tried_is_on_the_screen(film: Film) -> None:
    text = "\n".join("\n".join(frame) for frame in film.seen())
    for pattern in (
        r"This takes about \d minutes on two quiet cores and [\d.]+ MB",
        r"recordings  [█░]{20} \d of 4 tasks recorded and encoded",
        r"recording drawer-open \d+ %",
        r"encoding drawer-open \d+ %",
        r"sequential  [█░]{20} +\d+ %  task 1 of 4: drawer-open",
        r"step \d+ of 300 · loss \d\.\d{3}",
        r"starting 1 simulator process",
        r"trying: \d of 5 left( · solved \d of \d)?",
        r"in all \d+ % · .* so far · about .* left",
        r"phaser      1/4 drawer-open: solved \d of 5",
    ):
        assert re.search(pattern, text), pattern


def test_ctrl_c_stops_it_with_one_line_and_no_traceback(film: Film) -> None:
    assert film.exit_code == 130
    said = film.text.decode()
    assert "the same command goes on from here" in said
    assert "Traceback" not in said


def test_without_a_terminal_the_same_command_goes_on_and_is_never_silent(log: Log) -> None:
    gaps = [after - before for before, after in zip(log.times, log.times[1:], strict=False)]
    assert log.exit_code == 0, "\n".join(log.lines)
    assert max(gaps) <= LONGEST_GAP_S
    text = "\n".join(log.lines)
    assert "1/4 drawer-open" not in text
    assert "\n\n\n" not in text
    for line in log.lines:
        assert "…" not in line
        assert len(line) <= COLUMNS or "/" in line, line


def test_forgetting_and_its_cure_are_visible_beyond_chance(
    log: Log, newcomer: tuple[Path, dict[str, str]]
) -> None:
    text = " ".join(" ".join(log.lines).split())
    assert "Forgetting is real, and a few rehearsed frames repair" in text
    (lower,) = re.findall(r"much of it: (\d+) to \d+ points", text)
    assert int(lower) >= 20
    assert (newcomer[0] / "out" / "report.html").exists()
