"""The shape of the source: layers, file sizes, names."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc"}
MAX_LINES_PER_FILE, MAX_LINES_PER_FUNCTION = 300, 50


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_layers_hold() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_file_fits_its_limits(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_LINES_PER_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_LINES_PER_FUNCTION, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_file_begins_with_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_no_module_has_a_name_that_says_nothing() -> None:
    parts = {part for path in SOURCES for part in path.relative_to(ROOT).with_suffix("").parts}
    assert not parts & NAMES_THAT_SAY_NOTHING
    assert len(SOURCES) > 10


def test_no_two_pieces_of_the_tests_share_a_name() -> None:
    """They are imported by name from their folders: of two, the wrong one might be found."""
    pieces = [
        path.name
        for path in (ROOT / "tests").rglob("*.py")
        if not path.name.startswith(("test_", "conftest", "__"))
    ]
    assert sorted({name for name in pieces if pieces.count(name) > 1}) == []
