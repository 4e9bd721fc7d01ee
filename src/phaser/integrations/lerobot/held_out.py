"""Measures every learnt dataset of a stream on its held-out episodes, shared by all processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phaser.core.demonstration import Task
from phaser.core.processes import is_first_process
from phaser.integrations.lerobot.measuring import (
    LOSSES,
    Chosen,
    PolicyLoss,
    add_losses,
    chosen_frames,
    frame_rows,
    read_chosen,
    write_chosen,
)
from phaser.integrations.lerobot.progress import Learnt, Progress
from phaser.integrations.lerobot.script import Seen, collate_of, forget_decoders, open_dataset
from phaser.integrations.lerobot.settings import Rehearsal
from phaser.methods.table import method as method_named
from phaser.replay.columns import Columns, say
from phaser.replay.preparing import segmenter_for
from phaser.replay.recording import read_recording
from phaser.replay.tensors import all_processes, process_rank, sum_over_processes


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeldOut:
    """The held-out part of a stream."""

    settings: Rehearsal
    progress: Progress
    columns: Columns

    def measure(self, learnt: Sequence[Learnt], seen: Seen) -> None:
        """Measure all learnt datasets after the newest of them, and write their losses."""
        newest = learnt[-1]
        self._choose(newest, seen)
        all_processes(True)
        loss = PolicyLoss(
            policy=seen.policy,
            preprocessor=seen.preprocessor,
            collate=collate_of(seen.dataset),
        )
        rows: list[dict[str, Any]] = []
        for index, one in enumerate(learnt):
            if not one.held_out:
                continue
            for place, (chosen, mean) in enumerate(self._losses(one, loss, seen)):
                rows.append(
                    {
                        "after_task": newest.name,
                        "after_index": len(learnt) - 1,
                        "task": one.name,
                        "task_index": index,
                        "phase_index": place,
                        "phase": chosen.phase,
                        "phase_share": chosen.share,
                        "loss": mean,
                        "num_frames": len(chosen.frames),
                    }
                )
        if is_first_process():
            add_losses(self.progress.folder / LOSSES, rows)

    def _losses(self, learnt: Learnt, loss: PolicyLoss, seen: Seen) -> list[tuple[Chosen, float]]:
        """The mean loss of each phase; nothing where the dataset is gone."""
        try:
            dataset = open_dataset(
                seen.config, repo_id=learnt.repo_id, root=learnt.root, episodes=learnt.held_out
            )
        except (OSError, ValueError) as error:
            if is_first_process():
                say(f"{learnt.name} is not measured: its dataset cannot be opened ({error})")
            return []
        rows, found = frame_rows(dataset, self.columns), []
        rank, world_size = process_rank()
        for chosen in read_chosen(self._path(learnt.name)):
            own = chosen.frames[rank::world_size]
            total = loss.total([dataset[rows[frame]] for frame in own])
            found.append((chosen, sum_over_processes(total) / len(chosen.frames)))
        forget_decoders()
        return found

    def _choose(self, newest: Learnt, seen: Seen) -> None:
        """Cut the newest dataset into phases and fix the frames that are measured from now on."""
        if not newest.held_out or not is_first_process():
            return
        dataset = open_dataset(
            seen.config, repo_id=newest.repo_id, root=newest.root, episodes=newest.episodes
        )
        task = Task(name=newest.name, instruction=newest.instruction)
        recording = read_recording(
            dataset, task=task.name, columns=self.columns, layout=self.settings.layout
        )
        rules = method_named(self.settings.method)
        segmenter = segmenter_for(self.settings.phases, task, rules, recording)
        cuts = segmenter.segment(recording.demos)
        by_episode = {demo.index: cut for demo, cut in zip(recording.demos, cuts, strict=True)}
        write_chosen(
            self._path(newest.name),
            chosen_frames(by_episode, newest.held_out, most=self.settings.held_out_frames),
        )

    def _path(self, name: str) -> Path:
        return self.progress.folder / f"held-out-{name}.json"
