"""The hooks of AlphaBrain's continual-learning trainer, called as it calls them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alphabrain_like import Context, Mixture, SingleDataset, TaskFiltered
from made_samples import LENGTHS, replay_in

from phaser import Columns
from phaser.core.errors import BadInput
from phaser.replay.alphabrain import AlphaBrainReplay
from phaser.replay.filtered_steps import FilteredSteps


def hooks_in(folder: Path, **settings: Any) -> AlphaBrainReplay:
    columns = Columns(images=("image",))
    return AlphaBrainReplay(replay_in(folder, layout="metaworld", columns=columns, **settings))


def context(task_id: int, lang: str) -> Context:
    return Context(task_id=task_id, task_dataset=TaskFiltered(SingleDataset(lang)))


def batch_of(ctx: Context, size: int = 4) -> list[dict[str, Any]]:
    return [ctx.task_dataset[row] for row in range(size)]


def run_task(hooks: AlphaBrainReplay, ctx: Context, steps: int = 2) -> list[Any]:
    hooks.on_task_start(ctx)
    batches = []
    for _ in range(steps):
        batch = batch_of(ctx)
        hooks.observe(batch, ctx.task_id)
        batches.append(hooks.modify_batch(batch, ctx.task_id))
        assert hooks.compute_penalty(ctx.model) is None
        hooks.after_backward(ctx.model)
    hooks.on_task_end(ctx)
    return batches


def test_two_tasks_in_a_row_mix_lists_of_dicts(tmp_path: Path) -> None:
    hooks = hooks_in(tmp_path)
    first = run_task(hooks, context(0, "open the drawer"))
    second = run_task(hooks, context(1, "close the drawer"))
    assert [one["lang"] for one in first[0]] == ["open the drawer"] * 4
    for batch in second:
        assert [one["lang"] for one in batch] == ["close the drawer"] * 2 + ["open the drawer"] * 2
        old = batch[-1]
        assert old["action"].dtype == np.float16
        assert old["action"].shape == (8, 4)
        assert [image.size for image in old["image"]] == [(16, 16)] * 2
        assert list(old) == list(batch[0])
    assert hooks.replay.stored == ("000-open-the-drawer", "001-close-the-drawer")
    assert "2 tasks stored" in hooks.describe()


def test_the_end_of_a_task_may_be_told_twice(tmp_path: Path) -> None:
    hooks, ctx = hooks_in(tmp_path), context(0, "open the drawer")
    run_task(hooks, ctx)
    hooks.on_task_end(ctx)
    hooks_in(tmp_path).on_task_end(ctx)
    assert hooks.replay.stored == ("000-open-the-drawer",)


def test_a_resumed_run_keeps_a_finished_task_that_is_not_stored(tmp_path: Path) -> None:
    hooks_in(tmp_path).on_task_end(context(0, "open the drawer"))
    assert hooks_in(tmp_path).replay.stored == ("000-open-the-drawer",)


def test_a_resumed_task_draws_what_it_would_have_drawn(tmp_path: Path) -> None:
    run_task(hooks_in(tmp_path), context(0, "open the drawer"))
    ctx = context(1, "close the drawer")

    def rehearsed(hooks: AlphaBrainReplay) -> list[float]:
        return [
            float(np.asarray(one["image"][0]).mean()) for one in hooks.modify_batch(batch, 1)[2:]
        ]

    batch = batch_of(ctx)
    hooks = hooks_in(tmp_path)
    hooks.on_task_start(ctx)
    steps = [rehearsed(hooks) for _ in range(3)]
    state = json.loads(json.dumps(hooks.state_dict()))
    steps += [rehearsed(hooks) for _ in range(3)]
    assert hooks.metrics() == {"phaser/step": 6.0, "phaser/stored_frames": 8.0}
    for load_first in (True, False):
        resumed = hooks_in(tmp_path)
        for load in (load_first, not load_first):
            if load:
                resumed.load_state_dict(state)
            else:
                resumed.on_task_start(ctx)
        assert [rehearsed(resumed) for _ in range(3)] == steps[3:]


def test_steps_are_read_in_order_where_the_dataset_draws_at_random() -> None:
    mixture = Mixture(SingleDataset("open it"), SingleDataset("open it", (9, 11)))
    steps = FilteredSteps.of(TaskFiltered(mixture), episode="episode_index", frame="frame_index")
    assert len(steps) == sum(LENGTHS) + 20
    assert np.bincount(steps.column("episode_index")).tolist() == [*LENGTHS, 9, 11]
    again = FilteredSteps.of(TaskFiltered(mixture), episode="e", frame="f")
    np.testing.assert_array_equal(steps[3]["action"], again[3]["action"])
    assert steps[3].keys() == {"image", "lang", "action", "robot_tag"}
    with pytest.raises(KeyError):
        steps.column("action")


def test_pauses_that_the_dataset_leaves_out_are_no_gaps(tmp_path: Path) -> None:
    ctx = context(0, "open the drawer")
    ctx.task_dataset._filtered_steps = [
        one for one in ctx.task_dataset._filtered_steps if one[1] != 3
    ]
    run_task(hooks_in(tmp_path), ctx)


def test_a_context_without_a_dataset_and_a_batch_out_of_turn_are_refused(tmp_path: Path) -> None:
    hooks = hooks_in(tmp_path)
    with pytest.raises(BadInput, match=r"needs ctx\.task_id and ctx\.task_dataset"):
        hooks.on_task_start(Context(task_id=0))
    with pytest.raises(BadInput, match="modify_batch of task 0 before on_task_start"):
        hooks.modify_batch([], 0)
