"""`phaser diff`: settings and results in which two runs differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from phaser.cli.arguments import Parser
from phaser.cli.output import print_json
from phaser.cli.text_table import columns, printable
from phaser.core.errors import BadInput

WIDTH = 80
FIRST, LONGEST = 34, 20
"""Letters of the first column, and of a value; both are cut where a line would be longer than a
terminal."""
ABOUT = ("name", "suite", "preset", "method", "seed", "order", "tasks", "commit")
Pair = tuple[Any, Any]


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("diff", "Show the settings and results in which two runs differ.")
    parser.add_argument("one", type=Path, metavar="A", help="the folder of a run")
    parser.add_argument("two", type=Path, metavar="B", help="the folder of another")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    chosen = parser.parse(arguments)
    found = differences(chosen.one, chosen.two)
    if chosen.json:
        print_json({part: {k: list(v) for k, v in pairs.items()} for part, pairs in found.items()})
        return 0
    print(f"A: {printable(str(chosen.one))}\nB: {printable(str(chosen.two))}")
    if not any(found.values()):
        print("The runs do not differ.")
    for part, pairs in found.items():
        if pairs:
            print(f"\n{part}")
            print("\n".join(_table(pairs)))
    return 0


def differences(one: Path, two: Path) -> dict[str, dict[str, Pair]]:
    """By part, every name with its two values; None where a run lacks it."""
    from phaser.experiments.compatibility import about
    from phaser.experiments.provenance import leaves

    for folder in (one, two):
        if not (folder / "run.json").is_file():
            raise BadInput(f"{folder} holds no run; expected a folder with run.json")
    first, second = about(one), about(two)
    return {
        "run": _differing(_chosen(first, ABOUT), _chosen(second, ABOUT)),
        "settings": _differing(leaves(first["settings"]), leaves(second["settings"])),
        "versions": _differing(first.get("versions", {}), second.get("versions", {})),
        "results": _differing(_results(one), _results(two)),
    }


def _chosen(about: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: about.get(name) for name in names}


def _differing(one: Mapping[str, Any], two: Mapping[str, Any]) -> dict[str, Pair]:
    return {
        name: (one.get(name), two.get(name))
        for name in dict.fromkeys([*one, *two])
        if one.get(name) != two.get(name)
    }


def _results(folder: Path) -> dict[str, Any]:
    """Metrics, the success of each task at the end, memory and processor time."""
    from phaser.experiments.finished import DONE
    from phaser.report.runs import read_run

    if not (folder / DONE).exists():
        return {"finished": False}
    run = read_run(folder)
    found: dict[str, Any] = {"finished": True, "frames kept": run.certificate.total_frames}
    if run.metrics is not None:
        found |= {
            "ASR %": _percent(run.metrics.average_success_rate),
            "NBT %": _percent(run.metrics.negative_backward_transfer),
            "plasticity %": _percent(run.metrics.plasticity),
        }
        for task in run.tasks:
            cell = run.matrix.final(task)
            found[f"{task} solved"] = f"{cell.successes}/{cell.trials}"
    for loss in run.task_losses:
        if loss.final is not None:
            found[f"{loss.task} held-out loss"] = round(loss.final, 4)
    if "total_cpu_s" in run.timing:
        found["processor s"] = round(run.timing["total_cpu_s"], 1)
    return found


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


def _table(pairs: Mapping[str, Pair]) -> list[str]:
    rows = [["", "A", "B"]]
    for name, pair in pairs.items():
        rows.append([_cut(name, FIRST), *(_cut(_words(one), LONGEST) for one in pair)])
    return [line[:WIDTH] for line in columns(rows)]


def _words(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return str(value)


def _cut(text: str, length: int) -> str:
    """The end of a long path tells it apart; so does the beginning of a value."""
    if len(text) <= length:
        return text
    return f"…{text[1 - length :]}" if length == FIRST else f"{text[: length - 1]}…"
