"""What a person sees while a task begins and ends, and when a loop is run again."""

import pytest

from phaser import Replay
from phaser.testing import toy


def learn(replay: Replay) -> None:
    for instruction, demos in toy.tasks():
        if replay.holds(instruction):
            continue
        with replay.task(demos, instruction=instruction):
            pass


def test_each_step_of_a_task_is_a_line_and_run_again_it_says_so(tmp_path, capsys) -> None:
    replay = Replay(
        tmp_path / "memory", budget=12, language=toy.language, vision=toy.vision, read_ahead=False
    )
    learn(replay)
    first = capsys.readouterr()
    assert first.out == ""
    lines = [line.split(": ", 2)[2] for line in first.err.splitlines()]
    assert [line.split()[0] for line in lines[::4]] == ["reading", "reading"]
    assert lines[1].endswith("finding and describing phases")
    assert lines[2].endswith("; the first")
    assert lines[3] == "kept 12 frames"
    assert "rehearsing 12 frames of 1 before it" in lines[6]
    learn(replay)
    again = capsys.readouterr().err.splitlines()
    assert len(again) == 2
    assert all("already; nothing to do" in line for line in again)


@pytest.mark.parametrize("others", [{"progress": False}, {"rank": 1, "world_size": 2}])
def test_only_the_first_process_speaks_and_only_where_it_is_wanted(
    tmp_path, capsys, others
) -> None:
    settings = {"budget": 12, "language": toy.language, "vision": toy.vision}
    learn(Replay(tmp_path / "memory", progress=False, **settings))
    assert Replay(tmp_path / "memory", **settings, **others).holds(next(toy.tasks())[0])
    assert capsys.readouterr().err == ""
