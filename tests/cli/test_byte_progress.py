"""Bytes on their way: a share in plain lines, not too many of them, and a guess of the rest."""

import io

import pytest

from phaser.cli import byte_progress
from phaser.cli.byte_progress import ByteWatch


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(byte_progress.time, "monotonic", lambda: now[0])
    return now


def test_a_pipe_gets_a_line_per_tenth_with_the_time_left(clock: list[float]) -> None:
    stream = io.StringIO()
    with ByteWatch(stream) as watch:
        watch.begin("assets", 1000_000)
        for _ in range(20):
            clock[0] += 2
            watch.add(50_000)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "assets 100.0 kB of 1.0 MB (10 %)"
    assert lines[4] == "assets 500.0 kB of 1.0 MB (50 %) · about 20 s left"
    assert lines[-1] == "assets 1.0 MB of 1.0 MB (100 %)"


def test_what_is_quick_says_nothing_and_what_is_slow_says_something(clock: list[float]) -> None:
    stream = io.StringIO()
    with ByteWatch(stream) as watch:
        watch.begin("assets", 1000)
        for _ in range(1000):
            watch.add(1)
        assert stream.getvalue() == ""
        watch.begin("demonstrations", 10**12)
        for _ in range(3):
            clock[0] += 31
            watch.add(1)
    assert stream.getvalue().count("demonstrations") == 3


def test_bytes_that_must_come_again_are_taken_back(clock: list[float]) -> None:
    watch = ByteWatch(io.StringIO())
    watch.begin("assets", 1000)
    watch.add(700)
    watch.add(-700)
    assert watch.line() == "0 B of 1.0 kB (0 %)"
    watch.begin("nothing", 0)
    watch.add(0)
    assert watch.line() == "0 B of 0 B (100 %)"
