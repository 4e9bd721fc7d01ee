"""The memories that the benchmark compares, each behind the same five calls."""

import random
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from benchmarks.memory_contents import Content, Layout, current_task
from phaser.core.demonstration import FrameRef
from phaser.core.streams import Streams
from phaser.memory.codecs import ImageCodec
from phaser.memory.sample import NewTask
from phaser.memory.store import Store
from phaser.routing.routed import Routed
from phaser.routing.uniform import Uniform
from phaser.testing.draw import MadeUpProbe

BATCH = 64
BLOCK = 1000


class System(Protocol):
    """One way to keep frames."""

    name: str

    def fill(self, layout: Layout, content: Content) -> None: ...

    def choose(self, step: int) -> Any: ...

    def fetch(self, chosen: Any) -> Any:
        """One batch: by name, a tensor that holds all chosen frames."""
        ...

    def open(self) -> None: ...

    def num_bytes(self) -> int: ...


class PhaserStore:
    """Our folder, drawn from by the rule that is asked for."""

    def __init__(self, folder: Path, codec: str) -> None:
        self.name = f"phaser, {codec}"
        self.folder = folder
        self.codec = ImageCodec.parse(codec)

    def fill(self, layout: Layout, content: Content) -> None:
        self.layout = layout
        self.content = content
        store = Store.create(self.folder, about={"made by": "benchmarks.memory"})
        for task, buckets in layout.tasks(content):
            new = NewTask(task=task, buckets=buckets, sample_of=self._sample, source={})
            store = store.add(new, self.codec)
        self.store = store

    def open(self) -> None:
        self.store = Store.open(self.folder)

    def sampler(self, rule: Routed | Uniform) -> Any:
        stream = Streams(0).named("draw", "now")
        return rule.for_task(self.store.memory, current_task(self.content), stream, MadeUpProbe())

    def prepare(self) -> None:
        """Score the phases, as happens once per task, for both rules."""
        self.routed, self.uniform = self.sampler(Routed()), self.sampler(Uniform())

    def choose(self, step: int) -> list[FrameRef]:
        return self.routed.next(BATCH, step)

    def choose_uniformly(self, step: int) -> list[FrameRef]:
        return self.uniform.next(BATCH, step)

    def fetch(self, chosen: Sequence[FrameRef]) -> dict[str, torch.Tensor]:
        return _stacked(self.store.read(chosen))

    def num_bytes(self) -> int:
        return folder_bytes(self.folder)

    def _sample(self, ref: FrameRef) -> dict[str, np.ndarray]:
        return self.content.sample(self.layout.number(ref))


class DecodedLists:
    """Replay as AlphaBrain keeps it: a list of decoded samples per task, joined for every draw."""

    name = "lists of decoded samples"

    def fill(self, layout: Layout, content: Content) -> None:
        self.tasks: dict[str, list[dict[str, np.ndarray]]] = {}
        for task, buckets in layout.tasks(content):
            refs = [ref for bucket in buckets for ref in bucket.frames]
            # A copy each, as decoding would make; the content's own pool is shared.
            self.tasks[task.name] = [
                {key: value.copy() for key, value in content.sample(layout.number(ref)).items()}
                for ref in refs
            ]
        self.rng = random.Random(0)

    def choose(self, step: int) -> list[dict[str, np.ndarray]]:
        everything: list[dict[str, np.ndarray]] = []
        for samples in self.tasks.values():
            everything.extend(samples)
        return self.rng.sample(everything, BATCH)

    def fetch(self, chosen: Sequence[dict[str, np.ndarray]]) -> dict[str, torch.Tensor]:
        """Nothing to decode: all samples are in memory, all the time."""
        return _stacked(chosen)

    def open(self) -> None:
        """Nothing to open: the lists end with the process."""

    def num_bytes(self) -> int:
        """Of memory; there is no file."""
        return sum(
            sys.getsizeof(sample) + sum(sys.getsizeof(value) for value in sample.values())
            for samples in self.tasks.values()
            for sample in samples
        )


class TorchRLMemmap:
    """TorchRL's replay buffer over memory-mapped tensors, filled in blocks."""

    name = "TorchRL, memory-mapped"

    def __init__(self, folder: Path) -> None:
        # Here, as it is installed for this benchmark only.
        from tensordict import TensorDict
        from torchrl.data import LazyMemmapStorage, ReplayBuffer

        self.folder = folder
        self._batch_of, self._storage, self._buffer = TensorDict, LazyMemmapStorage, ReplayBuffer

    def fill(self, layout: Layout, content: Content) -> None:
        self.capacity = layout.num_tasks * layout.frames_per_task
        scratch = self.folder / "scratch"
        buffer = self._buffer(
            storage=self._storage(self.capacity, scratch_dir=str(scratch)), batch_size=BATCH
        )
        for block in _blocks(layout, content):
            buffer.extend(self._batch_of(block, [len(next(iter(block.values())))]))
        buffer.dumps(self.folder / "saved")
        shutil.rmtree(scratch)
        self.open()

    def open(self) -> None:
        self.buffer = self._buffer(storage=self._storage(self.capacity), batch_size=BATCH)
        self.buffer.loads(self.folder / "saved")

    def choose(self, step: int) -> torch.Tensor:
        return self.buffer.sampler.sample(self.buffer.storage, BATCH)[0]

    def fetch(self, chosen: torch.Tensor) -> Any:
        return self.buffer.storage.get(chosen)

    def num_bytes(self) -> int:
        return folder_bytes(self.folder)


def _blocks(layout: Layout, content: Content) -> Iterator[dict[str, torch.Tensor]]:
    block: list[dict[str, np.ndarray]] = []
    for _, buckets in layout.tasks(content):
        for ref in (ref for bucket in buckets for ref in bucket.frames):
            block.append(content.sample(layout.number(ref)))
            if len(block) == BLOCK:
                yield _stacked(block)
                block = []
    if block:
        yield _stacked(block)


def _stacked(block: Sequence[dict[str, np.ndarray]]) -> dict[str, torch.Tensor]:
    return {key: torch.from_numpy(np.stack([one[key] for one in block])) for key in block[0]}


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
