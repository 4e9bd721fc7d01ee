"""Tasks draw in the process that began them; loaders may have any workers beside it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, default_collate

from phaser import Replay
from phaser.core.errors import BadInput
from phaser.testing.toy import ToyDemos

WORKERS = [
    (0, None, False),
    *(
        (count, start, persistent)
        for count in (2, 4)
        for start in ("fork", "spawn")
        for persistent in (False, True)
    ),
]
# The machine's own warning that more workers than cores were asked for, and Python's that a
# process with threads is forked: the read-ahead thread is the case that is tested here.
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded"),
]


class Mixing:
    """A collate function that mixes, as a module's own class, so that it can be sent to workers."""

    def __init__(self, task: Any) -> None:
        self.task = task

    def __call__(self, samples: list[Any]) -> Any:
        return self.task.mix(default_collate(samples))


def begun(folder: Path) -> Any:
    replay = Replay(folder, method="er", budget=30)
    with replay.task(ToyDemos("left"), instruction="go left"):
        pass
    return replay.task(ToyDemos("right"), instruction="go right")


def loader_with(workers: tuple[int, str | None, bool], **options: Any) -> DataLoader[Any]:
    count, start, persistent = workers
    return DataLoader(
        ToyDemos("right"),
        batch_size=10,
        num_workers=count,
        multiprocessing_context=start,
        persistent_workers=persistent,
        timeout=60 if count else 0,
        **options,
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[torch.Tensor]:
    """Two epochs without workers."""
    task = begun(tmp_path_factory.mktemp("alone"))
    loader = loader_with((0, None, False))
    return [task.mix(batch)["action"] for _ in range(2) for batch in loader]


@pytest.mark.parametrize("workers", WORKERS, ids=str)
def test_mixing_in_the_loop_is_the_same_with_any_workers(
    tmp_path: Path, workers: tuple[int, str | None, bool], alone: list[torch.Tensor]
) -> None:
    task = begun(tmp_path)
    loader = loader_with(workers)
    # The second epoch forks its workers while the read-ahead thread runs.
    found = [task.mix(batch)["action"] for _ in range(2) for batch in loader]
    assert len(found) == len(alone)
    assert all(torch.equal(*pair) for pair in zip(found, alone, strict=True))
    task.finish()


@pytest.mark.parametrize("workers", WORKERS[1:], ids=str)
def test_mixing_in_a_worker_is_refused_with_what_to_do(
    tmp_path: Path, workers: tuple[int, str | None, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    # How long torch waits for each of its workers after one of them failed.
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.1)
    task = begun(tmp_path)
    for _ in range(3):
        task.sample(4)
    step = task.step
    loader = loader_with(workers, collate_fn=Mixing(task))
    with pytest.raises(BadInput, match=r"mix in the training loop: batch = task\.mix\(batch\)"):
        next(iter(loader))
    assert task.step == step
    task.finish()


def test_a_collate_function_without_workers_may_mix(
    tmp_path: Path, alone: list[torch.Tensor]
) -> None:
    task = begun(tmp_path)
    loader = loader_with((0, None, False), collate_fn=Mixing(task))
    found = [batch["action"] for _ in range(2) for batch in loader]
    assert all(torch.equal(*pair) for pair in zip(found, alone, strict=True))
    assert task.step == len(alone)
