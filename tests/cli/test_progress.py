"""Progress: what is done, how much of it, how long it will take; in 80 columns, never silent."""

import io
import time
from dataclasses import replace
from itertools import pairwise

import pytest

from phaser.cli import progress
from phaser.cli.cell_progress import work_of
from phaser.cli.progress import Watch, labels
from phaser.cli.recording_progress import RecordingProgress
from phaser.cli.task_lines import task_line
from phaser.cli.time_left import Countdown, Pace, on_workers
from phaser.experiments.axes import Axes
from phaser.experiments.events import (
    Doing,
    Finished,
    Measured,
    Prepared,
    Preparing,
    RolledOut,
    Stepped,
)
from phaser.experiments.presets import preset
from phaser.methods.table import method

FIRST_TASK = Measured(task="hammer", index=0, loss=0.1, counts={"hammer": (8, 10)})
ROLLED_OUT = RolledOut(
    task="hammer",
    success=True,
    episodes=4,
    planned=10,
    episodes_per_s=1.94,
    seconds_left=62.0,
    shares={"physics": 0.61, "rendering": 0.24, "policy": 0.15},
)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch):
    for name, value in {"COLUMNS": "80", "LINES": "24", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def clock(monkeypatch):
    """Hands of a clock that a test sets."""
    hands = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: hands[0])
    return hands


def test_the_line_after_a_task_says_what_each_number_counts() -> None:
    run = preset("metaworld-quick")
    counts = {"assembly": (1, 2), "hammer": (2, 2), "window-open": (9, 10)}
    event = Measured(task="window-open", index=3, loss=0.1, counts=counts)
    said = "er  4/10 window-open: solved 9 of 10, of the 2 earlier tasks 3 of 4 (75 %)"
    assert task_line("er", run, event) == said
    assert task_line("er", run, FIRST_TASK) == "er  1/10 hammer: solved 8 of 10"
    joint = run.with_method(method("joint"))
    assert "all 10 tasks at once: solved 12 of 14" in task_line("joint", joint, event)
    unseen = replace(event, counts={})
    assert task_line("er", run, unseen) == "er  4/10 window-open: held-out loss not measured"


def test_no_line_after_a_task_is_wider_than_the_terminal() -> None:
    run = preset("metaworld-quick")
    long = "button-press-topdown-wall"
    counts = {f"task-{k}": (10, 10) for k in range(9)} | {long: (10, 10)}
    event = Measured(task=long, index=9, loss=0.1, counts=counts)
    for label in ("er", "sequential", "phaser-b20-default-s0"):
        for width in (40, 60, 79):
            lines = task_line(label, run, event, width=width).splitlines()
            assert max(map(len, lines)) <= max(width, len(label) + 51)
            assert "90 of 90" in lines[-1]


def watched_cell(name: str, watch: Watch) -> None:
    for event in (
        Preparing(task="hammer", doing="encoding", share=0.4),
        Prepared(task="hammer"),
        Stepped(step=150, steps=300, loss=0.1234),
        Doing(what="starting 2 simulator processes"),
        ROLLED_OUT,
    ):
        watch.cell(name, event)


def test_a_screen_names_method_task_loss_and_success_in_80_columns() -> None:
    cells = Axes(methods=("sequential", "er")).cells(preset("metaworld-quick"))
    with Watch(cells, stream=Terminal(), num_workers=2) as watch:
        watched_cell(cells[1].name, watch)
        lines = list(watch._lines())
    assert max(map(len, lines)) < 80
    assert lines[0].startswith("er ")
    assert lines[0].endswith("task 1 of 10: hammer")
    assert lines[1].strip() == "trying: 6 of 10 left · solved 1 of 4 · loss 0.123"
    assert lines[-1].startswith("in all ")
    assert " left" in lines[-1]


@pytest.mark.parametrize("count", [1, 12, 40])
def test_however_many_cells_run_the_screen_holds_them(count: int) -> None:
    axes = Axes(methods=("er",), seeds=tuple(range(count)))
    cells = axes.cells(preset("metaworld-quick"))
    with Watch(cells, stream=Terminal(), num_workers=count) as watch:
        for cell in cells:
            watched_cell(cell.name, watch)
        lines = list(watch._lines())
    assert len(lines) < 24
    assert max(map(len, lines)) < 80


def test_a_pipe_gets_a_line_per_task_and_never_waits_long(monkeypatch) -> None:
    monkeypatch.setattr(progress, "SILENCE_S", 0.05)
    monkeypatch.setattr(progress, "TICK_S", 0.02)
    cells = Axes(methods=("sequential", "er")).cells(preset("metaworld-quick"))
    stream, name = io.StringIO(), cells[0].name
    with Watch(cells, stream=stream) as watch:
        watch.expect_recordings(["hammer", "assembly"], 30)
        watch.recording("assembly", "recording", 0.3)
        watch.recorded("hammer")
        watch.cell(name, Preparing(task="hammer"))
        watch.cell(name, Stepped(step=300, steps=300, loss=0.1))
        watch.cell(name, FIRST_TASK)
        time.sleep(0.2)
        watch.cell(name, Finished())
    lines = stream.getvalue().splitlines()
    assert lines[0] == "recorded hammer (1 of 2 tasks)"
    assert "sequential  1/10 hammer: solved 8 of 10" in lines
    assert any("recordings: 1 of 2 tasks · recording assembly 30 %" in line for line in lines)
    assert any(line.startswith("in all ") and line.endswith(" left") for line in lines)
    assert max(map(len, lines)) < 80


def test_long_names_of_tasks_give_way_in_the_middle() -> None:
    task = "LIVING_ROOM_SCENE2_put_both_the_alphabet_soup_and_the_tomato_sauce_in_the_basket"
    progress = RecordingProgress()
    progress.expect([task, "hammer"], 35)
    progress.follow(task, "recording", 0.2, Pace())
    (line,) = progress.one_line()
    assert line == "recordings: 0 of 2 tasks · recording LIVING_ROOM_…mato_sauce_in_the_basket 20 %"
    _, shown = progress.lines(79, signs="#-")
    assert shown.startswith("            recording LIVING_")
    assert shown.endswith("_the_tomato_sauce_in_the_basket 20 %")
    assert max(len(line), len(shown)) <= 79


def test_recording_alone_begins_with_the_time_that_all_of_it_takes(clock) -> None:
    watch = Watch([], stream=io.StringIO(), num_workers=2)
    watch.expect_recordings(["hammer", "assembly"], 30)
    clock[0] += 1
    assert 20 < watch.time_left() < 60


def test_shares_of_physics_and_rendering_are_for_those_who_ask() -> None:
    cells = Axes(methods=("er",)).cells(preset("metaworld-quick"))
    for verbose in (False, True):
        stream = io.StringIO()
        with Watch(cells, stream=stream, verbose=verbose) as watch:
            watch.cell(cells[0].name, ROLLED_OUT)
            watch.cell(cells[0].name, FIRST_TASK)
        speed = "1.9 rollouts/s (physics 61 %, rendering 24 %, policy 15 %)"
        assert (speed in stream.getvalue()) is verbose


def test_the_work_of_a_cell_counts_what_it_will_do() -> None:
    run = preset("metaworld-10")
    work = work_of(run)
    assert work["step"] == 10 * run.fit.steps_per_task
    # 9 × 5 just learnt, 10 × 10 at the end.
    assert work["rollout"] == 9 * 5 + 100
    joint = work_of(run.with_method(method("joint")))
    assert (joint["rollout"], joint["measure"]) == (100, 1)


def test_a_finished_cell_has_done_all_its_work(clock) -> None:
    cells = Axes(methods=("er",)).cells(preset("metaworld-10"))
    watch = Watch(cells, stream=io.StringIO())
    shares = []
    for index, task in enumerate(cells[0].suite.tasks()):
        watch.cell(cells[0].name, Preparing(task=task.name))
        watch.cell(cells[0].name, Prepared(task=task.name))
        watch.cell(cells[0].name, Stepped(step=300, steps=300, loss=0.1))
        counts = {task.name: (1, 5)}
        watch.cell(cells[0].name, Measured(task=task.name, index=index, loss=0.1, counts=counts))
        shares.append(watch.share)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_the_time_left_does_not_jump_by_a_factor_of_three(clock) -> None:
    """Recordings, a slow start, quick steps and slow rollouts, three times slower than planned."""
    run = preset("metaworld-10")
    watch = Watch([run], stream=io.StringIO(), num_workers=1)
    shown: list[tuple[float, float]] = []

    def spend(seconds: float) -> None:
        for _ in range(max(1, round(seconds / 0.5))):
            clock[0] += min(seconds, 0.5)
            shown.append((clock[0], watch.time_left()))

    tasks = [task.name for task in run.suite.tasks()]
    watch.expect_recordings(tasks, 30)
    for task in tasks:
        for demo in range(30):
            watch.recording(task, "recording", (demo + 1) / 30)
            spend(3.0)
        watch.recorded(task)
    for index, task in enumerate(tasks):
        watch.cell(run.name, Preparing(task=task))
        spend(10)
        watch.cell(run.name, Prepared(task=task))
        for step in range(10, 301, 10):
            spend(0.6)
            watch.cell(run.name, Stepped(step=step, steps=300, loss=0.1))
        for episode in range(100 if index == 9 else 5):
            spend(30 if (index, episode) == (0, 0) else 1.5)
            watch.cell(run.name, replace(ROLLED_OUT, task=task, episodes=episode + 1))
        spend(5)
        watch.cell(run.name, Measured(task=task, index=index, loss=0.1, counts={task: (1, 5)}))
    end = clock[0]
    settled = [(at, left) for at, left in shown if left > 20]
    ratios = [max(a, b) / min(a, b) for (_, a), (_, b) in pairwise(settled[::2])]
    assert max(ratios) < 1.3
    # From a tenth of the way on, the guess is right within a factor of two.
    later = [(end - at, left) for at, left in settled if at - 1000 > (end - 1000) / 10]
    assert all(left / 2 < true + 20 and true < 2 * left + 20 for true, left in later)


def test_workers_share_cells_in_order() -> None:
    assert on_workers([3, 3, 3], 2) == 6
    assert on_workers([], 2) == 0


def test_a_pace_follows_what_is_measured() -> None:
    pace = Pace()
    guessed = pace.seconds_for({"rollout": 10})
    for _ in range(50):
        pace.note("rollout", 1, 5.0)
    assert pace.seconds_for({"rollout": 10}) == pytest.approx(50, rel=0.1)
    assert guessed < 10
    # Work that was not met yet is slower too on such a machine.
    assert pace.seconds_for({"step": 100}) > 2 * Pace().seconds_for({"step": 100})


def test_a_countdown_counts_down_and_follows_slowly() -> None:
    shown = Countdown()
    assert shown.follow(100, 0) == 100
    assert shown.follow(90, 10) == pytest.approx(90)
    assert 90 < shown.follow(900, 11) < 140


def test_a_countdown_that_ran_out_finds_its_way_back_without_a_jump() -> None:
    countdown, at = Countdown(), 0.0
    shown = [countdown.follow(5, at)]
    for _ in range(480):
        at += 0.25
        shown.append(countdown.follow(200, at))
    # It lags by the time that a guess which stands still should have counted down.
    assert 150 < shown[-1] < 200
    # Lines that are 20 s apart, as a log has them.
    assert all(later <= 2.2 * before for before, later in pairwise(shown[::80]))


def test_cells_are_labelled_by_what_tells_them_apart() -> None:
    run = preset("metaworld-quick")
    assert labels(Axes(methods=("er", "phaser")).cells(run)) == ["er    ", "phaser"]
    assert labels([run, replace(run, seed=1)]) == [run.name, replace(run, seed=1).name]
