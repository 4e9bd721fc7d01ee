"""Checkpoints of one cell: the last good one stays until the next is whole, then it goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from phaser.core.errors import BrokenFile
from phaser.core.files import sha256
from phaser.core.policy import Policy
from phaser.experiments.compatibility import require_same_contract, require_same_demonstrations
from phaser.experiments.position import POSITION, Position
from phaser.experiments.processor_time import ProcessorTime
from phaser.training.checkpoint import (
    Moments,
    Steps,
    read_state,
    read_tensors,
    write_state,
    write_tensors,
)
from phaser.training.stream import MethodState

UNFINISHED = "unfinished-"
"""How the files in `checkpoints` begin that only an unfinished task needs."""


class Checkpoints:
    """Saves what the learner gives and restores it (`training.checkpoint.Checkpointer`).

    Of several processes that train one policy all restore, and the first one alone writes.
    """

    def __init__(self, folder: Path, *, writes: bool = True) -> None:
        self._folder = folder
        self._writes = writes
        self._path = folder / POSITION
        self._penalties = folder / "penalty"
        self.is_begun = self._path.exists()
        """Whether there is anything to go on with."""
        self.position = Position.read(self._path) if self.is_begun else Position()
        self.spent = ProcessorTime(self.position.seconds)
        self.steps = Steps()
        """Of the task that is being learnt."""

    def restore(self, policy: Policy, optimizer: Moments) -> Steps:
        found = self.position.state_sha256
        self.steps = (
            Steps()
            if found is None
            else read_state(self._state(self.position), found, policy, optimizer)
        )
        return self.steps

    def save(self, policy: Policy, moments: Mapping[str, Tensor], steps: Steps) -> None:
        self.steps = steps
        reached = replace(self.position, step=len(steps))
        if not self._writes:
            self.position = reached
            return
        written = write_state(self._state(reached), policy, moments, steps)
        self._commit(replace(reached, state_sha256=written))

    def load_start(self, weights: Path, policy: Policy) -> None:
        """Weights with which the task began: what it rehearses may depend on them."""
        if self.position.start_sha256 is None:
            raise BrokenFile(f"{self._path} names no weights to go on from; restore it")
        policy.load_trained_state(read_tensors(weights, self.position.start_sha256))

    def method_state(self) -> MethodState:
        """What the finished tasks left for the method's rules."""
        found: Mapping[str, Tensor] = {}
        for name, written in self.position.penalty.items():
            found = read_tensors(self._penalties / name, written)
        return MethodState.of(found)

    def write_state(self, weights: Path, state: MethodState) -> None:
        """Write what a task leaves for the rules, before the memory says that it is done."""
        if self._writes and (tensors := state.tensors()):
            write_tensors(self._penalties / weights.name, tensors)

    def finish_task(self, weights: Path, memory: Mapping[str, str]) -> None:
        """The task is learnt, measured and kept."""
        state = self._penalties / weights.name
        written = {weights.name: sha256(state)} if state.exists() else {}
        self._commit(
            replace(
                self.position,
                task_index=self.position.task_index + 1,
                step=0,
                start_sha256=sha256(weights),
                state_sha256=None,
                memory=dict(memory),
                penalty=written,
            )
        )

    def check_contract(self, found: Mapping[str, Any]) -> None:
        """Refuse a policy that sees other things than its weights were trained on."""
        if self.is_begun:
            require_same_contract(self._folder, self.position.contract, found)
        self.position = replace(self.position, contract=dict(found))

    def check_demonstrations(self, task: str, found: Mapping[str, str]) -> None:
        """Refuse recordings other than those that the task was learnt from; remember new ones."""
        known = self.position.demonstrations
        require_same_demonstrations(task, known.get(task), found)
        self.position = replace(self.position, demonstrations={**known, task: dict(found)})

    def note_horizon(self, task: str, horizon: int) -> None:
        """Remember the step limit of a task: its demonstrations may be gone when it is tried."""
        self.position = replace(self.position, horizons={**self.position.horizons, task: horizon})

    def remove_unneeded(self) -> None:
        """Remove the checkpoints that an earlier step, or a process that was killed, left."""
        if not self._writes:
            return
        needed = None if self.position.state_sha256 is None else self._state(self.position)
        for path in (self._folder / "checkpoints").glob(f"{UNFINISHED}*"):
            if path != needed:
                path.unlink()
        for path in self._penalties.glob("*"):
            if path.name not in self.position.penalty:
                path.unlink()

    def _commit(self, position: Position) -> None:
        self.position = replace(position, seconds=self.spent.totals())
        if self._writes:
            self.position.write(self._path)
        self.remove_unneeded()

    def _state(self, position: Position) -> Path:
        name = f"{UNFINISHED}{position.task_index:02d}-{position.step:07d}.safetensors"
        return self._folder / "checkpoints" / name
