"""AlphaBrain's and starVLA's continual-learning hooks, answered by a replay memory.

    algorithm = AlphaBrainReplay(Replay("memory/", budget=1000, layout="libero",
                                        columns=Columns(images=("image",))))

It has the hooks of AlphaBrain's CLAlgorithm by shape and imports nothing of it. Batches are lists
of dicts (`image`, `lang`, `action`, …), and so are the rehearsed samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phaser.core.errors import BadInput
from phaser.replay.about import slug
from phaser.replay.filtered_steps import FilteredSteps
from phaser.replay.replay import Replay
from phaser.replay.task import ReplayTask


@dataclass(slots=True, eq=False)
class AlphaBrainReplay:
    """The hooks; every one may be called again, as AlphaBrain does when it resumes."""

    replay: Replay
    _open: ReplayTask | None = field(default=None, init=False)
    _pending: dict[str, Any] = field(default_factory=dict, init=False)
    """The state of a checkpoint, until its task begins."""

    def on_task_start(self, ctx: Any) -> None:
        if ctx.task_id is None or ctx.task_dataset is None:
            raise BadInput("on_task_start needs ctx.task_id and ctx.task_dataset; found None")
        dataset = self._dataset(ctx.task_dataset)
        instruction = _instruction(dataset)
        name = _name(ctx.task_id, instruction)
        self._open = self.replay.task(dataset, instruction=instruction, name=name)
        if self._pending.get("task") == name:
            self._open.load_state_dict(self._pending)
            self._pending = {}

    def observe(self, batch: Any, task_id: int) -> None:
        """Nothing to see: what is kept is chosen from whole demonstrations."""

    def modify_batch(self, batch: Any, task_id: int) -> Any:
        if self._open is None:
            raise BadInput(f"modify_batch of task {task_id} before on_task_start")
        return self._open.mix(batch)

    def compute_penalty(self, model: Any) -> None:
        """No term is added to the loss."""

    def after_backward(self, model: Any) -> None:
        """Gradients are left alone."""

    def on_task_end(self, ctx: Any) -> None:
        """Keep the task's frames, once: a resumed run calls this again for finished tasks."""
        finished = f"{_number(ctx.task_id)}-"
        if not any(name.startswith(finished) for name in self.replay.stored):
            if self._open is None or not self._open.name.startswith(finished):
                self.on_task_start(ctx)
            assert self._open is not None
            self._open.finish()
        self._open = None

    def describe(self) -> str:
        stored = len(self.replay.stored)
        return f"phaser replay in {self.replay.folder}: {stored} tasks stored"

    def metrics(self) -> dict[str, float]:
        if self._open is None:
            return {}
        return {
            "phaser/step": float(self._open.step),
            "phaser/stored_frames": float(self._open.num_stored),
        }

    def state_dict(self) -> dict[str, Any]:
        """JSON; the memory itself is on disk and needs no checkpoint."""
        return dict(self._pending) if self._open is None else self._open.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self._open is not None and state.get("task") == self._open.name:
            self._open.load_state_dict(state)
        else:
            self._pending = dict(state)

    def _dataset(self, dataset: Any) -> Any:
        if not hasattr(dataset, "base_dataset"):
            return dataset
        columns = self.replay.columns
        return FilteredSteps.of(dataset, episode=columns.episode, frame=columns.frame)


def _number(task_id: int) -> str:
    return f"{task_id:03d}"


def _name(task_id: int, instruction: str) -> str:
    return f"{_number(task_id)}-{slug(instruction)}"


def _instruction(dataset: Any) -> str:
    """The `lang` of the first sample."""
    found = dataset[0].get("lang")
    if not isinstance(found, str):
        raise BadInput(f"the first sample has lang {found!r}; expected the instruction")
    return found
