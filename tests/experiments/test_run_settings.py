"""Runs as values: written down and read back, presets, grids, budgets."""

import json
import re
from dataclasses import replace

import pytest

from phaser.core.errors import BadInput, BrokenFile, BudgetMismatch, UnknownName
from phaser.core.files import write_json
from phaser.encoders.table import Encoders
from phaser.experiments.axes import Axes
from phaser.experiments.finished import check_budgets
from phaser.experiments.presets import PRESETS, preset
from phaser.experiments.provenance import command_of
from phaser.experiments.run import (
    Evaluation,
    Run,
    Storage,
    run_from,
    run_from_file,
    settings_of,
)
from phaser.memory.budget import Budget
from phaser.methods.imagined import Imagined
from phaser.methods.method import Method
from phaser.methods.projected import Projected
from phaser.methods.table import METHODS
from phaser.phases.annotated import Annotated
from phaser.phases.autopc import PAPER_SEGMENTER, AutoPC
from phaser.phases.stage_info import RatioPhase, TaskStages, write_stage_info
from phaser.policies.tiny.settings import Tiny
from phaser.routing.by_loss import ByLoss
from phaser.suites.metaworld.recording import MetaWorldRecording
from phaser.suites.metaworld.suite import MetaWorld
from phaser.training.fit import Fit

FRAMES = (Budget.per_task(10), Budget.per_task(20))


def through_json(run):
    return run_from(json.loads(json.dumps(settings_of(run))), source="run.json")


@pytest.mark.parametrize("name", METHODS)
def test_a_run_of_every_method_comes_back_equal_from_its_settings(name):
    run = Run(seed=3).with_method(METHODS[name])
    assert through_json(run) == run


def test_settings_other_than_the_defaults_come_back_too():
    run = Run(
        method=Method(
            name="mine",
            keep=METHODS["er-even"].keep,
            draw=ByLoss(exponent=2.0, level="phase"),
            rehearse=Imagined(share=0.1),
            penalty=Projected(),
            segmenter=AutoPC(boundaries="ratio", max_phases=3),
        ),
        suite=MetaWorld(
            task_list=("reach", "push"), order="reverse", recording=MetaWorldRecording(noise=0)
        ),
        policy=Tiny(head="flow", train_encoder=True, chunk_length=4),
        encoders=Encoders(vision="policy"),
        budget=Budget.total(90, floor=2),
        fit=Fit(steps_per_task=7, learning_rate=0.01),
        evaluation=Evaluation(rollouts_per_task=3, earlier_rollouts=1),
        storage=Storage(codec="jpeg:80", rehearse_from="memory"),
    )
    assert through_json(run) == run
    assert through_json(run) != Run()


def annotated(tmp_path, names):
    phases = (
        RatioPhase(name="first", start_ratio=0.0, end_ratio=0.25),
        RatioPhase(name="then", start_ratio=0.25, end_ratio=1.0),
    )
    path = tmp_path / "stage_info.json"
    stages = TaskStages(instruction="do it", phases=phases, source="human")
    write_stage_info(path, dict.fromkeys(names, stages))
    return path


def test_phases_of_a_file_become_settings_that_need_it_no_more(tmp_path):
    path = annotated(tmp_path, ("reach", "push"))
    run = Run(suite=MetaWorld(task_list=("reach", "push"))).with_phases(path)
    path.unlink()
    assert through_json(run) == run
    assert run.segmenter_of("push").max_phases == 2
    assert isinstance(run.segmenter_of("push"), Annotated)
    assert run.with_method(METHODS["phaser-paper"]).segmenter_of("push") == Annotated(
        annotation=run.phases[1], segmenter=PAPER_SEGMENTER
    )
    assert "--from run.json" in command_of(run)


def test_phases_must_know_every_task_of_the_run(tmp_path):
    run = Run(suite=MetaWorld(task_list=("reach", "push")))
    with pytest.raises(UnknownName, match="push"):
        run.with_phases(annotated(tmp_path, ("reach",)))
    whole = run.with_phases(annotated(tmp_path, ("reach", "push")))
    with pytest.raises(BadInput, match="phases of push, reach for the tasks reach"):
        replace(whole, suite=MetaWorld(task_list=("reach",)))


def test_settings_name_no_folder_of_this_machine():
    assert "cache" not in json.dumps(settings_of(Run()))


@pytest.mark.parametrize("path", [(), ("fit",), ("suite", "recording"), ("method", "keep")])
def test_an_unknown_key_is_refused_in_one_line_that_names_it(path):
    settings = settings_of(Run())
    inner = settings
    for key in path:
        inner = inner[key]
    inner["tpyo"] = 1
    with pytest.raises(BadInput, match=r"run\.json does not describe a run: .*tpyo") as caught:
        run_from(settings, source="run.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed -1"),
        ({"seed": "many"}, "seed"),
        (
            {"method": {"name": "x", "keep": {"kind": "Evne"}, "draw": {"kind": "Uniform"}}},
            "did you mean Even",
        ),
        ({"suite": {"kind": "metaworld", "task_list": "metaworld-99"}}, "metaworld-99"),
        ({"suite": {"kind": "metaword"}}, "did you mean metaworld"),
        ({"policy": {"head": "flow"}}, "a policy is .* expected an object with 'kind'"),
        ({"budget": {"amount": 0}}, "a budget with amount 0"),
        ({"fit": {"batch_size": 0}}, "batch_size 0"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_in_one_line(change, message):
    with pytest.raises(BadInput, match=message) as caught:
        run_from({**settings_of(Run()), **change}, source="run.json")
    assert "\n" not in str(caught.value)


def test_a_file_without_settings_is_refused(tmp_path):
    write_json(tmp_path / "run.json", {"seed": 1})
    with pytest.raises(BrokenFile, match="no 'settings'"):
        run_from_file(tmp_path / "run.json")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_names_itself_and_survives_its_own_file(name, tmp_path):
    run = preset(name)
    assert run.preset == name
    assert PRESETS[name].summary
    # The user names the datasets; the quick demo has four tasks, a stream of LIBERO-Long five.
    fewest = {"metaworld-first": 4, "libero-long-streams": 5}.get(name, 8)
    assert name == "datasets" or len(run.suite.tasks()) >= fewest
    write_json(tmp_path / "run.json", {"settings": settings_of(run)})
    assert run_from_file(tmp_path / "run.json") == run


def test_an_unknown_preset_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean metaworld-10"):
        preset("metaworld-11")


@pytest.mark.parametrize("wrong", [(0, 0), (3, 4), (3, -1)])
def test_rollouts_that_make_no_sense_are_refused(wrong):
    with pytest.raises(BadInput, match=r"_rollouts|rollouts_per_task"):
        Evaluation(rollouts_per_task=wrong[0], earlier_rollouts=wrong[1])


def test_a_method_brings_its_own_way_of_carrying_boundaries_over():
    run = Run().with_method(METHODS["phaser-paper"])
    assert run.segmenter_of("reach").boundaries == "ratio"
    assert run.with_method(METHODS["er"]).segmenter_of("reach").boundaries == "per-demo"


def test_the_name_of_a_method_is_derived_and_marks_what_was_changed():
    run = Run(method=METHODS["phaser-paper"])
    assert run.method_name == "phaser-paper"
    changed = replace(run, method=replace(run.method, draw=ByLoss()))
    again = replace(run, method=replace(run.method, draw=ByLoss(exponent=2.0)))
    names = [changed.method_name, again.method_name]
    assert all(re.fullmatch("phaser-paper~[0-9a-f]{4}", name) for name in names)
    assert len({run.name, changed.name, again.name}) == 3


def test_a_grid_has_seeds_outermost_and_every_combination_once():
    axes = Axes(methods=("er", "phaser", "er"), seeds=(4, 5), budgets=FRAMES)
    cells = axes.cells(preset("metaworld-10"))
    found = [(cell.seed, cell.budget.amount, cell.method_name) for cell in cells]
    methods = ("er", "phaser")
    assert found == [(s, b, m) for s in (4, 5) for b in (10, 20) for m in methods]
    assert len({cell.name for cell in cells}) == len(cells)


def test_a_method_without_memory_appears_once_whatever_the_budgets():
    cells = Axes(methods=("sequential",), budgets=FRAMES).cells(preset("metaworld-10"))
    assert [cell.name for cell in cells] == ["sequential-b0-default-s0"]


def test_odd_seeds_learn_in_reverse_when_orders_alternate():
    base = preset("metaworld-10")
    cells = Axes(methods=("er",), seeds=(0, 1, 2, 3), alternate_order=True).cells(base)
    tasks = [cell.suite.tasks() for cell in cells]
    assert tasks[0] == tasks[2] == base.suite.tasks()
    assert tasks[1] == tasks[3] == base.suite.tasks()[::-1]
    assert not any("reverse" in cell.name for cell in cells[::2])


def folder_with(path, *, per_task, held, seed=0):
    budget = {"amount": per_task, "unit": "frames", "per": "task"} if per_task else None
    about = {"budget": budget, "seed": seed, "tasks": ["a", "b"]}
    write_json(path / "run.json", about)
    frames = dict(zip("ab", held, strict=False))
    write_json(path / "budget.json", {"frames_per_task": frames, "total_frames": sum(held)})
    return path


def test_equal_budgets_may_be_compared_and_no_memory_with_any(tmp_path):
    folders = [
        folder_with(tmp_path / "er", per_task=6, held=(6, 6)),
        folder_with(tmp_path / "phaser", per_task=6, held=(6, 6)),
        folder_with(tmp_path / "big", per_task=9, held=(9, 9)),
        folder_with(tmp_path / "sequential", per_task=0, held=()),
    ]
    check_budgets(folders)


@pytest.mark.parametrize("held", [(6, 5), (7, 6), (6,), ()])
def test_unequal_budgets_are_refused(tmp_path, held):
    folders = [
        folder_with(tmp_path / "er", per_task=6, held=(6, 6)),
        folder_with(tmp_path / "phaser", per_task=6, held=held),
    ]
    with pytest.raises(BudgetMismatch, match="phaser"):
        check_budgets(folders)


def test_a_grid_gives_its_segmenter_to_methods_that_bring_none():
    base = preset("metaworld-10")
    mine = AutoPC(max_phases=2)
    base = replace(base, method=replace(base.method, segmenter=mine))
    er, paper = Axes(methods=("er", "phaser-paper")).cells(base)
    assert er.method.segmenter == mine
    assert paper.method.segmenter == METHODS["phaser-paper"].segmenter


def test_a_negative_seed_is_refused():
    with pytest.raises(BadInput, match="seed -1"):
        replace(Run(), seed=-1)
