"""Terminals that know few letters, readers that leave, devices that are full: never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phaser.cli import main

MEMORY = Path(__file__).parents[1] / "fixtures" / "memory_v1"
SOURCES = str(Path(main.__file__).parents[2])
STUB = """
import os, signal, sys, types
from phaser.cli import main
from phaser.core.errors import PhaserError

def execute(arguments):
    for number in range(5):
        print("step", number, "x" * 100_000, flush=True)
        print("also here", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGHUP)
    open(sys.argv[1], "w").write("done")
    return 0

# As a terminal starts it: tests may run under nohup.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.modules["stub"] = types.SimpleNamespace(execute=execute)
main.VERBS["run"] = main.VERBS["methods"] = ("stub", "")
main.main([sys.argv[2]])
"""


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONUTF8", "LC_ALL", "LANG")}
    return {**kept, "PYTHONPATH": SOURCES, "PYTHONUNBUFFERED": "", **more}


def run(words: list[str], **more: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "phaser.cli", *words]
    return subprocess.run(command, capture_output=True, env=environment(**more), timeout=300)


@pytest.mark.parametrize(
    "words",
    [
        ["memory", "show", str(MEMORY)],
        ["memory", "verify", str(MEMORY)],
        ["phases", "stats", "libero-goal"],
        ["methods"],
        ["run", "metaworld-quick", "--help"],
        ["plan"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_a_terminal_of_plain_letters_is_enough(words: list[str]) -> None:
    done = run(words, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"Traceback" not in done.stdout


def test_signs_of_ours_have_plain_ones_in_their_place() -> None:
    shown = run(["phases", "stats", "libero-goal"], PYTHONIOENCODING="ascii").stdout.decode()
    assert " sd " in shown
    assert "?" not in shown


def test_json_on_a_terminal_of_plain_letters_loses_nothing() -> None:
    import json

    plain, full = (
        run(["phases", "stats", "libero-goal", "--json"], PYTHONIOENCODING=encoding).stdout
        for encoding in ("ascii", "utf-8")
    )
    assert json.loads(plain) == json.loads(full)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["methods", "presets --json", "--help"])
def test_a_full_device_is_one_line(words: str, unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "phaser.cli", *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(PYTHONUNBUFFERED=unbuffered),
        )
    assert done.returncode == 2
    said = done.stderr.decode()
    assert said == "phaser: cannot write the output: No space left on device; free space\n"


def stub(tmp_path: Path, verb: str) -> tuple[int, bool]:
    """Run a verb whose reader leaves at once; the exit code, and whether its work was done."""
    mark = tmp_path / "done"
    with subprocess.Popen(
        [sys.executable, "-c", STUB, str(mark), verb],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stderr.close()
        code = process.wait(timeout=60)
    return code, mark.exists()


def test_a_run_goes_on_when_its_terminal_is_gone(tmp_path: Path) -> None:
    assert stub(tmp_path, "run") == (0, True)


def test_other_verbs_end_with_their_terminal(tmp_path: Path) -> None:
    code, done = stub(tmp_path, "methods")
    assert code < 0
    assert not done


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m phaser.cli memory show {MEMORY} --json | head -c 1; "
    command += 'exit "${PIPESTATUS[0]}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{", b"")


def test_a_closed_output_is_no_error() -> None:
    for words in ("methods", "presets --json"):
        command = f"{sys.executable} -m phaser.cli {words} >&-"
        done = subprocess.run(["bash", "-c", command], capture_output=True, env=environment())
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "goes_on"), [("run", True), ("grid", True), ("segment", False), ("memory", False)]
)
def test_only_verbs_that_go_on_promise_it(
    words: str,
    goes_on: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"phaser.cli.{words}.execute", interrupt)
    assert main.execute([words]) == 130
    assert ("goes on from here" in capsys.readouterr().err) is goes_on
