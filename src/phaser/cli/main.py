"""`phaser VERB …`: finds the verb's module, and turns what a user can mend into one line."""

from __future__ import annotations

import importlib
import signal
import sys
import time
from collections.abc import Sequence

from phaser import __version__
from phaser.cli.screens import SCREENS
from phaser.cli.streams import full_device, use_forgiving_streams
from phaser.core.errors import PhaserError, UnknownName
from phaser.core.extras import install_line, missing_library
from phaser.core.processes import number_beside

VERBS = {
    "demo": ("phaser.cli.demo", "learn robot tasks in a row, and see what a memory repairs"),
    "run": ("phaser.cli.run", "run one method once, with any setting changed"),
    "grid": ("phaser.cli.grid", "run methods × seeds × budgets × any setting; again to resume"),
    "report": ("phaser.cli.report", "compare finished runs: a table and report.html"),
    "diff": ("phaser.cli.diff", "settings and results in which two runs differ"),
    "watch": ("phaser.cli.watch", "follow a run or a grid from another terminal"),
    "film": ("phaser.cli.film", "show runs made with --record as a moving matrix, WebP or mp4"),
    "power": ("phaser.cli.power", "how many streams and rollouts would find a gap, from a pilot"),
    "record": ("phaser.cli.record", "record and encode demonstrations in advance"),
    "lerobot-train": ("phaser.cli.lerobot_train", "LeRobot's training script, with rehearsal"),
    "segment": ("phaser.cli.segment", "cut demonstrations from anywhere into named phases"),
    "annotate": ("phaser.cli.annotate", "mark phases in a browser, from Auto-PC's candidates on"),
    "phases": ("phaser.cli.phases", "measure phases: their lengths, and how two annotations agree"),
    "memory": ("phaser.cli.memory", "show, verify, forget, repair and export a replay memory"),
    "libero": ("phaser.cli.libero", "fetch LIBERO's assets and published demonstrations"),
    "methods": ("phaser.cli.methods", "list the methods"),
    "presets": ("phaser.cli.presets", "list the presets"),
    "plan": ("phaser.cli.plan", "what a run on a real backbone needs, before a GPU is rented"),
    "convert": ("phaser.cli.convert", "turn a checkpoint's .pt files into safetensors, once"),
    "completion": ("phaser.cli.completion", "print a script that completes words in a shell"),
    "doctor": ("phaser.cli.doctor", "check this machine: versions, GL, cache, weights, simulator"),
}
"""Each verb's module has `execute(arguments) -> exit code`."""

GO_ON = ("demo", "run", "grid", "record", "libero")
"""Verbs that take up unfinished work; they also outlive the terminal they were started in."""

USER_ERROR, INTERRUPTED = 2, 130
FIRST_SPEAKS_S = 15.0
"""How long another process leaves it to the first to say what is wrong."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The installed command."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    use_forgiving_streams()
    if words and words[0] in GO_ON and hasattr(signal, "SIGHUP"):
        # The processes that a verb starts inherit this.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    code = execute(words)
    if reason := full_device():
        print(f"phaser: cannot write the output: {reason}; free space", file=sys.stderr)
        code = code or USER_ERROR
    sys.exit(code)


def execute(arguments: Sequence[str]) -> int:
    """Run a verb; returns the exit code. Bugs are not caught: they crash with a traceback."""
    try:
        return _dispatch(list(arguments))
    except PhaserError as error:
        _say(" ".join(str(error).split()))
        return error.exit_code
    except ModuleNotFoundError as error:
        if (library := missing_library(error)) is None:
            raise
        _say(f"this needs {library}, which is not installed; run: {install_line(library)}")
        return USER_ERROR
    except KeyboardInterrupt:
        goes_on = "; the same command goes on from here" if arguments[0] in GO_ON else ""
        if number_beside() is None:
            print(f"phaser: interrupted{goes_on}", file=sys.stderr)
        return INTERRUPTED


def _say(line: str) -> None:
    """Say what a user can mend, once for all processes of a run.

    A launcher ends all processes as soon as one has failed. So the others wait until the first has
    said what all have met; what it does not meet, they say themselves.
    """
    if (number := number_beside()) is None:
        print(f"phaser: {line}", file=sys.stderr)
        return
    time.sleep(FIRST_SPEAKS_S)
    print(f"phaser: process {number}: {line}", file=sys.stderr)


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if arguments[0] in ("-V", "--version"):
        print(f"phaser {__version__}")
        return 0
    verb, rest = arguments[0], arguments[1:]
    if verb not in VERBS:
        raise UnknownName("flag" if verb.startswith("-") else "verb", verb, VERBS)
    if verb in SCREENS and {"-h", "--help"} & {*rest}:
        print(SCREENS[verb], end="")
        return 0
    code: int = importlib.import_module(VERBS[verb][0]).execute(rest)
    return code


def usage() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb.ljust(width)}  {summary}" for verb, (_, summary) in VERBS.items()]
    return "\n".join(
        [
            "usage: phaser VERB [flags]",
            "",
            "Robot policies that learn tasks one after another and keep the old ones.",
            "",
            *lines,
            "",
            "`phaser VERB --help` explains a verb; `phaser demo` is the place to start.",
        ]
    )
