"""Every name that a function reads is there: shapes as strings make linters blind to that."""

import builtins
import dis
import importlib
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
MODULES = sorted(
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    for path in (SRC / "phaser").rglob("*.py")
    if path.name != "__main__.py"
)


def code_of(source: types.CodeType) -> Iterator[types.CodeType]:
    """A piece of code and all functions inside it."""
    yield source
    for inner in source.co_consts:
        if isinstance(inner, types.CodeType):
            yield from code_of(inner)


def undefined(source: types.CodeType, known: set[str]) -> set[str]:
    """Names that the functions of a module read and nobody defines."""
    read = {
        step.argval
        for code in code_of(source)
        for step in dis.get_instructions(code)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    return read - known - set(dir(builtins))


@pytest.mark.parametrize("name", MODULES)
def test_every_name_that_a_function_reads_is_defined(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Only another library may be missing: one of our own modules, or a name in it, may not.
        if error.name is None or error.name.partition(".")[0] == "phaser":
            raise
        pytest.skip(f"{name} needs the library {error.name}")
    path = Path(str(module.__file__))
    source = compile(path.read_text(), str(path), "exec")
    known = set(vars(module))
    for code in code_of(source):
        # Bodies of classes read their own names; what the module itself stored is its own.
        known |= {s.argval for s in dis.get_instructions(code) if s.opname == "STORE_NAME"}
    assert undefined(source, known | {"__annotations__", "__qualname__"}) == set()


def test_a_missing_name_is_found() -> None:
    source = compile("def lift(cup):\n    return hold(cup)\n", "robot.py", "exec")
    assert undefined(source, {"lift"}) == {"hold"}
