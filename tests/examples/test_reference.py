"""The API reference has every public name, with its arguments and an example that runs."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import phaser

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
SECTION = re.compile(
    r"^## (\w+)\n.*?```python\n(.*?)```\n\n::: ([\w.]+)$", re.DOTALL | re.MULTILINE
)
NAMES = [name for name in phaser.__all__ if name != "__version__"]
CLASSES = [name for name in NAMES if inspect.isclass(getattr(phaser, name))]
PRINTS = re.compile(r"^\s*print\([^#]*\)(?:  # (.*))?$")

RUNNER = """
import contextlib, io, json, os, sys, tempfile, traceback
outcomes = {}
for name, code in json.load(sys.stdin).items():
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        os.chdir(folder)
        try:
            exec(compile(code, name, "exec", dont_inherit=True), {"__name__": name})
        except Exception:
            print(traceback.format_exc())
        os.chdir("/")
    outcomes[name] = printed.getvalue()
json.dump(outcomes, sys.stdout)
"""


def sections() -> dict[str, tuple[str, str]]:
    """Example and place of every name that the reference has."""
    return {
        name: (code, place)
        for page in PAGES
        for name, code, place in SECTION.findall(page.read_text())
    }


def test_the_reference_has_every_public_name_once() -> None:
    headings = [one for page in PAGES for one in re.findall(r"^::: (.+)$", page.read_text(), re.M)]
    assert len(headings) == len(set(headings)) == len(sections())
    assert {f"phaser.{name}" for name in NAMES} <= set(headings)


def test_the_front_page_of_the_reference_names_them_all() -> None:
    text = (ROOT / "docs" / "reference" / "index.md").read_text()
    assert {name for name in NAMES if f"`{name}`" in text} == set(NAMES)


@cache
def outcomes() -> dict[str, str]:
    """What each example printed, or its traceback: all run as a newcomer's, in one process."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER],
        input=json.dumps({name: code for name, (code, _) in sections().items()}),
        capture_output=True,
        text=True,
        timeout=300,
        env={
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONUTF8": "1",
            "OMP_NUM_THREADS": "1",
            "PHASER_CACHE": os.environ["PHASER_CACHE"],
        },
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", [*NAMES, "ReplayTask"])
def test_the_example_of_a_name_runs_and_prints_what_it_says(name: str) -> None:
    code, _ = sections()[name]
    assert name == "ReplayTask" or re.search(rf"\b{name}\b", code)
    printed = outcomes()[name].splitlines()
    assert "Traceback" not in outcomes()[name], outcomes()[name]
    promised = [found[1] for line in code.splitlines() if (found := PRINTS.match(line))]
    if len(promised) == len(printed):
        for said, line in zip(promised, printed, strict=True):
            assert said in (None, line)
    else:
        assert promised == [", then ".join(printed)]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_what_it_is(name: str) -> None:
    value = getattr(phaser, name)
    assert (callable(value) and value.__doc__) or name == "METHODS"


@pytest.mark.parametrize("name", CLASSES)
def test_every_field_of_a_public_class_is_explained(name: str) -> None:
    body = tree_of(getattr(phaser, name)).body
    fields = [
        (statement.target.id, following)
        for statement, following in zip(body, [*body[1:], None], strict=True)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    ]
    silent = [field for field, following in fields if not is_text(following)]
    assert [field for field in silent if not field.startswith("_")] == []


@pytest.mark.parametrize("name", CLASSES)
def test_public_methods_with_several_arguments_explain_each(name: str) -> None:
    missing = []
    for method in tree_of(getattr(phaser, name)).body:
        if not isinstance(method, ast.FunctionDef) or (
            method.name.startswith("_") and method.name != "__call__"
        ):
            continue
        text = ast.get_docstring(method) or ""
        arguments = [one.arg for one in (*method.args.args[1:], *method.args.kwonlyargs)]
        if len(arguments) > 1:
            missing += [
                f"{method.name}: {one}"
                for one in arguments
                if not re.search(rf"^ +{one}: ", text, re.MULTILINE)
            ]
    assert missing == []


def test_the_navigation_names_every_page_and_no_other() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1].split("\nmarkdown_")[0]
    named = re.findall(r"([\w/-]+\.md)$", navigation, re.MULTILINE)
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(named) == sorted(pages)


def tree_of(value: Any) -> ast.ClassDef:
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    assert isinstance(found, ast.ClassDef)
    return found


def is_text(node: ast.stmt | None) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
