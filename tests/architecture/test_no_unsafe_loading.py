"""Nothing in the package can run code that hides in a file: the source is walked, call by call."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))
MODULES = {
    "_pickle",
    "cPickle",
    "cloudpickle",
    "dill",
    "jsonpickle",
    "joblib",
    "marshal",
    "pickle",
    "shelve",
}
BUILTINS = {"__import__", "compile", "eval", "exec"}
# A loader's last name and the modules that it is unsafe in.
LOADERS = {
    "load": {"torch", "yaml"},
    "load_all": {"yaml"},
    "full_load": {"yaml"},
    "unsafe_load": {"yaml"},
    "fromfile": {"numpy.core.records"},
    "load_state_dict_from_url": {"torch.hub"},
    "read_pickle": {"pandas"},
    "object_from_file": {"torch"},
}
# The one exception, stated: `phaser convert` reads published .pt files with weights_only, in a
# child process that runs this file and that nothing imports.
CONVERTER = "policies/loading/convert_child.py"
# Keywords that turn a safe reader into one that unpickles; the value must be a plain False or True.
SAFE_VALUES = {"allow_pickle": False, "trust_remote_code": False, "weights_only": True}


def unsafe(text: str) -> list[str]:
    """What in this source could run code from a file, with its line."""
    tree = ast.parse(text)
    names = dict(_imported(tree))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            full = _full_name(node, names)
            found += [f"line {node.lineno}: {full}"] * _is_unsafe(full)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            roots = {full.split(".")[0] for _, full in _imported(node)}
            found += [f"line {node.lineno}: import {root}" for root in sorted(roots & MODULES)]
        elif isinstance(node, ast.keyword) and node.arg in SAFE_VALUES:
            value = node.value
            if not (isinstance(value, ast.Constant) and value.value is SAFE_VALUES[node.arg]):
                found.append(f"line {value.lineno}: {node.arg}={ast.unparse(value)}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            module = [word.value for word in node.args[:1] if isinstance(word, ast.Constant)]
            if _full_name(node.func, names).endswith("import_module") and set(module) & MODULES:
                found.append(f"line {node.lineno}: import {module[0]}")
    return found


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that imports bind, with what they stand for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.split(".")[0]
                yield bound, alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module or ''}.{alias.name}"


def _full_name(node: ast.AST, names: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{_full_name(node.value, names)}.{node.attr}"
    return "?"


def _is_unsafe(full: str) -> bool:
    module, _, last = full.rpartition(".")
    return (
        full in BUILTINS
        or (module == "builtins" and last in BUILTINS)
        or module in LOADERS.get(last, ())
    )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_file_cannot_run_code_that_hides_in_another(path: Path) -> None:
    found = unsafe(path.read_text())
    if path.as_posix().endswith(CONVERTER):
        assert [line.split(": ")[1] for line in found] == ["torch.load"]
    else:
        assert found == []


def test_the_converter_reads_weights_only_and_is_run_but_never_imported() -> None:
    (converter,) = [path for path in SOURCES if path.as_posix().endswith(CONVERTER)]
    (call,) = [
        node
        for node in ast.walk(ast.parse(converter.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load"
    ]
    given = {word.arg: ast.unparse(word.value) for word in call.keywords}
    assert given["weights_only"] == "True"
    for path in SOURCES:
        imported = dict(_imported(ast.parse(path.read_text()))).values()
        assert not any("convert_child" in name for name in imported), path


def test_the_walk_covers_the_package() -> None:
    assert len(SOURCES) > 100
    assert {"efficientnet.py", "torch_file.py", "fit.py"} <= {path.name for path in SOURCES}


@pytest.mark.parametrize(
    "planted",
    [
        "import pickle",
        "import pickle as harmless",
        "from pickle import loads",
        "from _pickle import Unpickler",
        "import joblib.numpy_pickle",
        "import dill",
        "import marshal",
        "def late():\n    import shelve",
        "importlib.import_module('pickle')",
        "from importlib import import_module\nimport_module('dill')",
        "__import__('pickle')",
        "eval(text)",
        "exec(text)",
        "run = eval",
        "import builtins\nbuiltins.exec(text)",
        "compile(text, 'a', 'exec')",
        "import torch\ntorch.load(path)",
        "import torch\ntorch.load(path, weights_only=True)",
        "import torch as t\nt.load(path)",
        "from torch import load\nload(path)",
        "from torch import load as read\nread(path)",
        "import torch\nread = torch.load",
        "import numpy as np\nnp.load(path, allow_pickle=True)",
        "import numpy as np\nnp.load(path, allow_pickle=trusted)",
        "import yaml\nyaml.load(text, Loader=yaml.Loader)",
        "from yaml import unsafe_load\nunsafe_load(text)",
        "import pandas as pd\npd.read_pickle(path)",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
    ],
)
def test_a_planted_loader_is_found(planted: str) -> None:
    assert unsafe(planted)


@pytest.mark.parametrize(
    "safe",
    [
        "import pickletools",
        "import json\njson.load(stream)",
        "import yaml\nyaml.safe_load(text)",
        "import numpy as np\nnp.load(path, allow_pickle=False)",
        "from safetensors.numpy import load\nload(content)",
        "policy.eval()",
        "import re\nre.compile(pattern)",
        "# eval(text), pickle.load(stream)\n'torch.load(path)'",
    ],
)
def test_safe_readers_are_left_alone(safe: str) -> None:
    assert unsafe(safe) == []
