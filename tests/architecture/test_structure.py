"""The shape of the source: layers, file sizes, names, and nothing that runs code from a file."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc"}
MODULES_THAT_RUN_FILES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
}
CALLS_THAT_RUN_TEXT = {"eval", "exec"}
MAX_LINES_PER_FILE, MAX_LINES_PER_FUNCTION = 300, 50


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def unsafe(tree: ast.AST) -> list[str]:
    """Imports and calls that could run code hidden in a file, with their lines."""
    found = []
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        elif isinstance(node, ast.Call):
            found += _unsafe_call(node)
        found += [
            f"line {node.lineno}: import {module}"
            for module in modules
            if module.split(".")[0] in MODULES_THAT_RUN_FILES
        ]
    return found


def _unsafe_call(call: ast.Call) -> list[str]:
    name = ast.unparse(call.func)
    flags = {word.arg: ast.unparse(word.value) for word in call.keywords}
    if name in CALLS_THAT_RUN_TEXT:
        return [f"line {call.lineno}: {name}"]
    if name == "torch.load" and flags.get("weights_only") != "True":
        return [f"line {call.lineno}: torch.load without weights_only=True"]
    if flags.get("allow_pickle") == "True":
        return [f"line {call.lineno}: {name} with allow_pickle=True"]
    return []


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


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_file_runs_no_code_hidden_in_another(path: Path) -> None:
    assert unsafe(ast.parse(path.read_text())) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "import joblib.numpy_pickle",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
        "eval(text)",
    ],
)
def test_the_walk_finds_what_it_looks_for(text: str) -> None:
    assert len(unsafe(ast.parse(text))) == 1


def test_no_module_has_a_name_that_says_nothing() -> None:
    parts = {part for path in SOURCES for part in path.relative_to(ROOT).with_suffix("").parts}
    assert not parts & NAMES_THAT_SAY_NOTHING
    assert len(SOURCES) > 10
