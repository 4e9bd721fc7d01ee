"""The next step is read while the current one is trained on, and nothing else changes."""

import threading
from pathlib import Path

import pytest
import torch

from phaser import Replay
from phaser.core.errors import BrokenFile
from phaser.replay.ahead import ReadAhead
from phaser.testing import toy


class Reader:
    """Remembers who read what."""

    def __init__(self):
        self.seen = []

    def __call__(self, step, count):
        self.seen.append((step, count, threading.current_thread() is threading.main_thread()))
        return [(step, place) for place in range(count)]


def test_a_steady_count_is_read_one_step_ahead_in_a_thread():
    reader = Reader()
    ahead = ReadAhead(read=reader)
    drawn = [ahead(step, 4) for step in range(5)]
    ahead.close()
    assert drawn == [[(step, place) for place in range(4)] for step in range(5)]
    # Whether the step after the last was begun before `close` is a matter of luck.
    assert [one[:2] for one in reader.seen[:5]] == [(step, 4) for step in range(5)]
    assert [one[2] for one in reader.seen[:5]] == [True, True, False, False, False]


def test_what_was_read_for_another_step_or_count_is_not_given():
    ahead = ReadAhead(read=Reader())
    ahead(0, 4), ahead(1, 4)
    assert ahead(7, 4)[0] == (7, 0)
    assert len(ahead(8, 2)) == 2
    ahead.close()


def test_counts_that_alternate_are_read_when_asked_for():
    reader = Reader()
    ahead = ReadAhead(read=reader)
    for step in range(6):
        ahead(step, 4 if step % 2 else 2)
    ahead.close()
    assert len(reader.seen) == 6


def test_an_error_of_the_thread_reaches_the_step_that_needs_it():
    def read(step, count):
        if step == 2:
            raise BrokenFile("gone")
        return [step] * count

    ahead = ReadAhead(read=read)
    ahead(0, 1), ahead(1, 1)
    with pytest.raises(BrokenFile, match="gone"):
        ahead(2, 1)
    ahead.close()


def rehearsed(folder: Path, *, read_ahead: bool) -> list[torch.Tensor]:
    replay = Replay(folder, method="er", budget=30, read_ahead=read_ahead)
    (first, demos), (second, more) = list(toy.tasks())[:2]
    with replay.task(demos, instruction=first):
        pass
    with replay.task(more, instruction=second) as task:
        batches = [task.mix(batch)["action"] for batch in toy.loader(more)][:12]
        batches.append(torch.stack([one["action"] for one in task.sample(3)]))
        task.step = 5
        batches.append(torch.stack([one["action"] for one in task.sample(3)]))
    return batches


def test_the_samples_are_the_same_with_and_without(tmp_path):
    before = set(threading.enumerate())
    with_it, without = (rehearsed(tmp_path / str(on), read_ahead=on) for on in (True, False))
    assert all(torch.equal(a, b) for a, b in zip(with_it, without, strict=True))
    assert not [one for one in threading.enumerate() if one not in before]
