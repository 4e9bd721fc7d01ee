"""Any setting of a run as a flag (`--method.draw.temperature 0.5`), by tyro over the dataclasses.

Order: default < preset < file < flag. A rule offers the flags of the method that was named, so the
unions of rules become the one rule that is there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from phaser.cli.arguments import refuse_unknown
from phaser.cli.setting_texts import text_of
from phaser.core.errors import BadInput
from phaser.core.suite import DERIVED
from phaser.experiments.run import Run

if TYPE_CHECKING:
    from tyro.constructors import ConstructorRegistry

HIDDEN = {
    ("Run", "preset"),
    ("Run", "seed"),
    ("Run", "phases"),
    ("Run", "label"),
    ("Budget", "amount"),
    ("Budget", "unit"),
    ("Budget", "per"),
    ("Method", "name"),
    ("Method", "joint"),
    ("Method", "summary"),
}
"""Fields that other flags, the name of the method or the environment decide."""

_FRAME = re.compile(r"[╭╮╰╯│─]+|-{5,}")
_FIRST_SECTION = re.compile(r"\W*(method[.\w]*|suite) options")


def overridden(
    run: Run, words: Sequence[str], *, verb: str, flags: Sequence[str], hidden: Collection[str] = ()
) -> Run:
    """The run with the flags in `words` applied; what is no flag of a run is refused."""
    known = [*flags, *setting_flags(run, hidden)]
    # Before the parser, which takes long to load.
    refuse_unknown(verb, [word for word in words if _is_no_flag(word, known)], known)
    changed, rest = _quietly(lambda: _parse(run, words, verb, hidden))
    refuse_unknown(verb, rest, known)
    # A suite may be without tasks until flags name them; then nothing must begin.
    changed.suite.tasks()
    return changed


def settings_help(run: Run, *, verb: str, hidden: Collection[str] = ()) -> str:
    """What tyro says about the settings, without its first lines about the program."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        _parse(run, ["--help"], verb, hidden)
    lines = shown.getvalue().splitlines()
    sections = (row for row, line in enumerate(lines) if _FIRST_SECTION.match(line))
    return "\n".join(line.rstrip() for line in lines[next(sections) :])


def setting_flags(run: Run, hidden: Collection[str] = ()) -> list[str]:
    """Every flag that `overridden` understands for this run."""
    return [f"--{path}".replace("_", "-") for path in _paths(run, "", hidden)]


def _paths(value: Any, prefix: str, hidden: Collection[str]) -> Iterator[str]:
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if _is_hidden(value, field.name, hidden):
            continue
        if dataclasses.is_dataclass(inner):
            yield from _paths(inner, f"{prefix}{field.name}.", hidden)
        else:
            yield f"{prefix}{field.name}"


def _is_hidden(value: Any, name: str, hidden: Collection[str]) -> bool:
    (field,) = (field for field in dataclasses.fields(value) if field.name == name)
    fixed = not field.init or DERIVED.items() <= field.metadata.items()
    kind = type(value).__name__
    named = (kind, name) in HIDDEN or f"{kind.lower()}.{name}" in hidden
    # A folder of this machine is no setting of a run. Asked of the type: a suite that is not
    # settled yet has no contract.
    is_cache = name == "cache" and hasattr(type(value), "images_sha256")
    return fixed or named or is_cache or (isinstance(value, Run) and name in hidden)


def _parse(
    run: Run, words: Sequence[str], verb: str, hidden: Collection[str]
) -> tuple[Run, list[str]]:
    import tyro

    return tyro.cli(
        Run,
        default=run,
        args=list(words),
        prog=f"phaser {verb}",
        registry=_registry(hidden),
        return_unknown_args=True,
    )


def _is_no_flag(word: str, known: Collection[str]) -> bool:
    """True for a flag that nothing knows; a switch may also be turned off: --no-x, --a.no-x."""
    name = word.split("=")[0].replace("_", "-")
    if not name.startswith("--") or len(name) == 2:
        return False
    head, dot, tail = name[2:].rpartition(".")
    on = f"--{head}{dot}{tail.removeprefix('no-')}"
    return name not in known and on not in known and not _is_section(name, known)


def _is_section(name: str, known: Collection[str]) -> bool:
    """True for what names settings together, such as a policy's adapters: --policy.lora None."""
    return any(flag.startswith((f"{name}.", f"{name}:")) for flag in known)


def _registry(hidden: Collection[str]) -> ConstructorRegistry:
    """Fields of our dataclasses as tyro finds them, without the hidden ones."""
    from tyro.constructors import ConstructorRegistry, StructConstructorSpec, StructTypeInfo

    registry = ConstructorRegistry()
    asking = False

    @registry.struct_rule
    def fields_of_default(found: StructTypeInfo) -> StructConstructorSpec | None:
        nonlocal asking
        default = found.default
        if asking or not dataclasses.is_dataclass(default):
            return None
        asking = True
        try:
            spec = ConstructorRegistry.get_struct_spec(found)
        finally:
            asking = False
        if not isinstance(spec, StructConstructorSpec):
            return None
        fields = tuple(
            dataclasses.replace(
                field,
                type=type(field.default) if dataclasses.is_dataclass(field.default) else field.type,
                helptext=partial(text_of, type(default), field.name),
            )
            for field in spec.fields
            if not _is_hidden(default, field.name, hidden)
        )
        return StructConstructorSpec(instantiate=_changing(default), fields=fields)

    return registry


def _changing(default: Any) -> Callable[..., Any]:
    def change(**values: Any) -> Any:
        return dataclasses.replace(default, **values)

    # Tyro shows the first lines of this above the flags.
    change.__doc__ = (type(default).__doc__ or "").partition("\n")[0]
    return change


def _quietly(parse: Callable[[], tuple[Run, list[str]]]) -> tuple[Run, list[str]]:
    """Tyro frames its complaint and leaves; ours is the first sentence of it."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return parse()
    except SystemExit as leaving:
        lines = [_FRAME.sub(" ", line).strip() for line in said.getvalue().splitlines()[1:]]
        body = itertools.dropwhile(lambda line: not line, lines)
        first = " ".join(itertools.takewhile(bool, body)).rstrip(".")
        raise BadInput(first or "the flags cannot be read; see --help") from leaving
