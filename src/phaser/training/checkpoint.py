"""The middle of a task on disk: weights, the optimiser's moments, and what every step trained on.

Batches, noise and learning rate are functions of (seed, task, step), so nothing else has to be kept
for training to go on as if it had never stopped. Tensors are safetensors; nothing is unpickled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import torch
from safetensors.torch import load, save
from torch import Tensor

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BrokenFile
from phaser.core.files import read_bytes, write_bytes
from phaser.core.measurements import Measurements
from phaser.core.policy import Policy
from phaser.core.ports import Sampler
from phaser.training.averaging import WeightAverage

STEPS_SCHEMA = pa.schema(
    [
        ("task", pa.string()),
        ("step", pa.int32()),
        ("loss", pa.float64()),
        ("sample_tasks", pa.list_(pa.string())),
        ("sample_demos", pa.list_(pa.int32())),
        ("sample_frames", pa.list_(pa.int32())),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The steps of one task that are done: the loss and the global batch of each."""

    losses: list[float] = field(default_factory=list)
    samples: list[list[FrameRef]] = field(default_factory=list)
    measured: Measurements = field(default_factory=Measurements)
    """What the sampler asked of the policy on the way: what it draws next depends on that."""
    average: WeightAverage = field(default_factory=WeightAverage)
    """The weights of the last steps, where a fit averages them."""

    def __len__(self) -> int:
        return len(self.losses)

    def add(self, loss: float, refs: list[FrameRef]) -> None:
        self.losses.append(loss)
        self.samples.append(refs)

    def measured_by(self, sampler: Sampler) -> Steps:
        """These steps with the sampler's own measurements, after it took up those made so far."""
        if sampler.measured is None:
            return self
        sampler.measured.restore(*self.measured.arrays())
        return replace(self, measured=sampler.measured)

    def table(self, task: str) -> pa.Table:
        """One row per step: the record by which two runs are compared, sample by sample."""
        return pa.Table.from_pydict(
            {
                "task": [task] * len(self),
                "step": range(len(self)),
                "loss": self.losses,
                "sample_tasks": [[ref.task for ref in refs] for refs in self.samples],
                "sample_demos": [[ref.demo for ref in refs] for refs in self.samples],
                "sample_frames": [[ref.frame for ref in refs] for refs in self.samples],
            },
            schema=STEPS_SCHEMA,
        )

    @classmethod
    def from_table(cls, table: pa.Table) -> Steps:
        columns = [table[f"sample_{part}"].to_pylist() for part in ("tasks", "demos", "frames")]
        samples = [list(map(FrameRef, *row)) for row in zip(*columns, strict=True)]
        return cls(table["loss"].to_pylist(), samples)


class Moments(Protocol):
    """A torch optimiser, as far as saving it goes."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None: ...


class Checkpointer(Protocol):
    """Saves the state of a task that is being learnt, and restores it."""

    def restore(self, policy: Policy, optimizer: Moments) -> Steps:
        """Put both back to where the last save left them; returns the steps done until then."""
        ...

    def save(self, policy: Policy, moments: Mapping[str, Tensor], steps: Steps) -> None:
        """Save all of it; every process calls this, with the whole optimiser's moments."""
        ...


def write_state(path: Path, policy: Policy, moments: Mapping[str, Tensor], steps: Steps) -> str:
    """All of it in one file; returns the SHA-256 that `read_state` will ask for."""
    tensors = {f"weights/{name}": value for name, value in policy.trained_state().items()}
    tensors |= {f"moments/{name}": value for name, value in moments.items()}
    tensors["steps"] = _packed(steps.table(""))
    if len(steps.measured):
        asked, answers = steps.measured.arrays()
        tensors["measured/steps"] = torch.from_numpy(asked)
        tensors["measured/answers"] = torch.from_numpy(answers)
    if steps.average.count:
        tensors |= {f"average/{name}": value for name, value in steps.average.sums.items()}
        tensors["average_count"] = torch.tensor(steps.average.count)
    return write_tensors(path, tensors)


def read_state(path: Path, sha256: str, policy: Policy, optimizer: Moments) -> Steps:
    """Put policy and optimiser back; a file that is not the one written is refused."""
    tensors = read_tensors(path, sha256)
    moments: dict[str, Tensor] = {}
    weights: dict[str, Tensor] = {}
    sums: dict[str, Tensor] = {}
    for key, value in tensors.items():
        kind, _, name = key.partition("/")
        if kind == "weights":
            weights[name] = value
        elif kind == "moments":
            moments[name] = value
        elif kind == "average":
            sums[name] = value
    policy.load_trained_state(weights)
    put_moments(optimizer, moments)
    with pa.ipc.open_stream(pa.py_buffer(tensors["steps"].numpy())) as stream:
        steps = Steps.from_table(stream.read_all())
    if sums:
        steps.average.sums.update(sums)
        steps.average.count = int(tensors["average_count"])
    if "measured/steps" in tensors:
        steps.measured.restore(
            tensors["measured/steps"].numpy(), tensors["measured/answers"].numpy()
        )
    return steps


def take_moments(optimizer: Moments) -> dict[str, Tensor]:
    """The state of an optimiser as tensors: "0/exp_avg" and so on."""
    return {
        f"{number}/{name}": value
        for number, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
    }


def put_moments(optimizer: Moments, tensors: Mapping[str, Tensor]) -> None:
    """Give an optimiser a state that `take_moments` took; an empty one leaves it as it is."""
    if not tensors:
        return
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition("/")
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    content = save({name: value.detach().cpu().contiguous() for name, value in tensors.items()})
    write_bytes(path, content)
    return hashlib.sha256(content).hexdigest()


def read_tensors(path: Path, sha256: str) -> dict[str, Tensor]:
    """Tensors of a file that has exactly this hash, so that its content is what was written."""
    if not path.is_file():
        raise BrokenFile(f"{path} is gone, but the run needs it to go on; restore it")
    content = read_bytes(path)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise BrokenFile(
            f"{path} has SHA-256 {found[:12]}…, expected {sha256[:12]}…; it is damaged: restore it"
        )
    return load(content)


def _packed(table: pa.Table) -> Tensor:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return torch.from_numpy(np.frombuffer(sink.getvalue(), np.uint8).copy())
