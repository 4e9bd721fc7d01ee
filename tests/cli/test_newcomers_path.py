"""A newcomer's first minutes: `phaser demo` in a terminal of 80 × 24, from a made-up quick suite.

The suite is that of the separate package in tests/fixtures/plugin; everything else is what
`phaser demo --quick` runs.
"""

import os
import re
from pathlib import Path

import pytest
from terminal_film import COLUMNS, Film, filmed

from phaser.cli import main
from phaser.cli.demo_words import Kept, sentence

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "tests" / "fixtures" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment that finds the package by its entry points, without installing it."""
    place = tmp_path_factory.mktemp("points")
    about = place / "phaser_point-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: phaser-point\nVersion: 0.1\n")
    project = (PLUGIN / "pyproject.toml").read_text()
    points = re.findall(r"\[project\.entry-points\.\"(.+?)\"\]\n((?:[^\[\n].*\n?)+)", project)
    text = "\n".join(f"[{group}]\n{entries.replace(chr(34), '')}" for group, entries in points)
    (about / "entry_points.txt").write_text(text)
    path = os.pathsep.join([str(Path(main.__file__).parents[2]), str(place), str(PLUGIN)])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "OMP_NUM_THREADS": "1",
        "PHASER_CACHE": str(place / "cache"),
        "TERM": "xterm",
        "PYTHONIOENCODING": "utf-8",
    }


@pytest.fixture(scope="module")
def film(installed: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Film:
    words = ["demo", "--preset", "points", "--budget", "6", "--out", "out", "--workers", "1"]
    folder = tmp_path_factory.mktemp("demo")
    found = filmed(words, folder, installed, longest_s=300)
    assert found.exit_code == 0, found.text.decode()[-3000:]
    assert (folder / "out" / "report.html").exists()
    return found


def test_the_screen_is_never_blank_and_no_line_is_cut(film: Film) -> None:
    shown = [frame for frame in film.frames if any(frame)]
    assert len(shown) > 10
    assert len(film.frames) - len(shown) <= 1
    for frame in shown:
        for line in frame:
            assert "…" not in line
            # A path may be longer than a line; nothing else is.
            assert len(line) < COLUMNS or "/" in line, line


def test_method_task_loss_and_success_are_on_the_screen_while_it_runs(film: Film) -> None:
    text = "\n".join("\n".join(frame) for frame in film.frames)
    for pattern in (
        r"sequential  [█░]{20} +\d+ %  task \d of 3: \w+",
        r"step \d+ of 30( · solved \d of \d)? · loss \d\.\d{3}",
        # Simulators start and rollouts end between two frames here; test_newcomers_minutes.py sees
        # both lines on a real simulator.
        r"in all \d+ % · .* so far · about .* left",
        r"phaser      2/3 up: solved \d of \d",
    ):
        assert re.search(pattern, text), pattern


def test_it_says_first_what_it_takes_and_last_what_was_learnt(film: Film) -> None:
    said = re.sub(r"\s+", " ", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", film.text.decode()))
    assert said.index("of disk") < said.index("in all ")
    end = said[said.index("What was learnt:") :]
    assert "docs/results.md" in end
    assert end.count(" phaser ") >= 3
    assert "report.html" in end


def test_a_lesson_is_claimed_only_beyond_chance() -> None:
    lost = Kept(method="sequential", learnt=(38, 40), left=(2, 30))
    held = Kept(method="phaser", learnt=(37, 40), left=(24, 30))
    assert "still solves 7 % of what it had learnt, with one 80 %" in sentence(lost, held)
    assert "chance" not in sentence(lost, held)
    unlucky = Kept(method="phaser", learnt=(37, 40), left=(4, 30))
    assert "may be chance" in sentence(lost, unlucky)
