"""The paper's cells as presets: its recipe, its budgets, and one line for whoever lacks weights."""

from dataclasses import replace

import pytest

from phaser.core.errors import BadInput
from phaser.experiments.backbone_presets import BASES, CELLS_OF_THE_TABLE, SMALL
from phaser.experiments.presets import PRESETS, preset
from phaser.experiments.run import run_from, settings_of
from phaser.policies.plan.cells import CELLS

each_cell = pytest.mark.parametrize("name", CELLS_OF_THE_TABLE)


def test_the_presets_are_the_cells_that_can_be_planned():
    assert list(CELLS_OF_THE_TABLE) == list(CELLS)
    assert set(CELLS) < set(PRESETS)


@each_cell
def test_a_cell_has_the_recipe_that_the_plan_counts_with(name):
    run, recipe = preset(name), CELLS[name].recipe
    assert run.fit.steps_per_task == recipe.steps_per_task == 10_000
    assert run.fit.batch_size == 2 * recipe.rows_per_device
    assert run.fit.num_rehearsed == 2 * recipe.rehearsed_per_device
    assert run.fit.learning_rate == 5e-4
    assert [run.fit._rate(step, 10_000) for step in (0, 5000)] == [1.0, 1.0]
    assert run.fit._rate(7500, 10_000) == pytest.approx(0.5)
    assert run.budget.amount == recipe.frames_per_task
    assert run.evaluation.rollouts_per_task == run.evaluation.learnt_rollouts == 50
    assert len(run.suite.tasks()) == recipe.num_tasks
    assert {run.suite.horizon(task) for task in run.suite.tasks()} == {recipe.step_limit}
    assert run.suite.protocol.name == ("openvla-oft" if name.startswith("openvla") else "starvla")
    assert run.encoders.is_policy == name.startswith("openvla")
    assert bool(run.phases) == name.endswith("goal")


@each_cell
def test_a_cell_is_read_back_from_its_settings(name):
    run = preset(name)
    assert run_from(settings_of(run), source="its own") == run


@each_cell
def test_weights_without_a_revision_are_one_line(name):
    with pytest.raises(BadInput, match=r"needs weights\.revision"):
        preset(name).policy.weights.folder()


def test_libero_long_is_an_ordinary_preset():
    run = preset("libero-long")
    assert len(run.suite.tasks()) == 10
    assert run.suite.task_list == run.preset == "libero-long"


@pytest.mark.parametrize("backbone", BASES)
def test_a_small_preset_learns_other_tasks_than_its_base(backbone):
    run, base = preset(f"{backbone}-small"), preset(f"{backbone}-base")
    assert run.policy == replace(base.policy, lora=run.policy.lora)
    assert run.policy.size == "small"
    assert base.policy.lora is None
    assert base.method.joint
    names = {task.name for task in base.suite.tasks()}
    assert len(names) == 20
    assert not names & {task.name for task in run.suite.tasks()}
    assert {f"{backbone}-small", f"{backbone}-base"} < set(SMALL)
