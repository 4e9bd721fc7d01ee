"""The real command in a process of its own, and a real browser that drives its page."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class Annotator:
    """`phaser annotate` as a user starts it."""

    def __init__(self, *words: object, out: Path, who: str = "ada") -> None:
        command = [sys.executable, "-m", "phaser.cli", "annotate", *map(str, words)]
        command += ["--stage-info", str(out), "--no-browser", "--who", who]
        self.out = out
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("open "):
                self.address = line.split()[1]
                return
        raise AssertionError(f"the command ended with {self.process.wait()}")

    @property
    def origin(self) -> str:
        return self.address.partition("/?")[0]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def __enter__(self) -> Annotator:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            assert self.process.wait(timeout=20) == 0
        if self.process.stdout is not None:
            self.process.stdout.close()


def opened(page, annotator: Annotator):
    """The page, when it can be used."""
    page.goto(annotator.address)
    page.wait_for_selector("body[data-ready]")
    return page


def shown(page, task: int, episode: int = 0) -> None:
    page.wait_for_selector(f"body[data-shown='{task}/{episode}']")


def until(page, expression: str, *, timeout_s: float = 30.0) -> None:
    """Wait until JavaScript says so; asked from outside, as the page's policy allows no eval."""
    end = time.monotonic() + timeout_s
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"still not: {expression}"
        time.sleep(0.05)


def press(page, *keys: str) -> None:
    """Press keys, and wait until what they change is saved."""
    for key in keys:
        page.keyboard.press(key)
    until(page, "document.getElementById('saved').textContent.startsWith('saved')")


def frame(page) -> int:
    return page.evaluate("window.phaserAnnotate.player.frame")


def boundaries(page) -> list[int]:
    handles = page.locator("#boundaries [role=slider]")
    return [int(one.get_attribute("aria-valuenow")) for one in handles.all()]


def phases(page) -> list[str]:
    return page.locator("#phases button").all_inner_texts()
