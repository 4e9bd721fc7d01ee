"""Every method of the table runs whole: exact budget, the same bits twice, one task, tiny phases.

Two tasks of three phases, the middle one a single frame of each demonstration; the first task is
always learnt with an empty memory. tests/faults cuts runs off and lets them go on.
"""

import gc

import pyarrow.parquet as pq
import pytest
from made_up_run import made_up_run
from made_up_suite import LENGTHS, NUM_DEMOS, MadeUpSuite

from phaser.core.files import read_json
from phaser.evaluation.simulators import Simulators
from phaser.experiments.cell import run_cell
from phaser.experiments.run import Evaluation
from phaser.memory.store import Store
from phaser.methods.imagined import IMAGINED
from phaser.methods.table import METHODS
from phaser.phases.annotated import Annotation
from phaser.phases.stage_info import RatioPhase
from phaser.training.fit import Fit

TASKS = ("reach", "push")
BUDGET = 8
EDGES = (0, LENGTHS[0], LENGTHS[0] + 1, sum(LENGTHS))
SHORT = RatioPhase(
    name="grasp", start_ratio=EDGES[1] / sum(LENGTHS), end_ratio=EDGES[2] / sum(LENGTHS)
)
PHASES = (
    RatioPhase(name="approach", start_ratio=0.0, end_ratio=SHORT.start_ratio),
    SHORT,
    RatioPhase(name="lift", start_ratio=SHORT.end_ratio, end_ratio=1.0),
)


@pytest.fixture(scope="module")
def run_method(tmp_path_factory):
    """Runs a method over tasks into a new folder; features and the simulator serve all methods."""
    cache = tmp_path_factory.mktemp("method-cache")
    with pytest.MonkeyPatch.context() as patch, Simulators() as simulators:
        # Accelerate collects all garbage after each task: half a second under a test runner.
        patch.setattr(gc, "collect", lambda *some: 0)

        def run(name, tasks=TASKS):
            folder = tmp_path_factory.mktemp(name)
            run = made_up_run(
                cache,
                name,
                suite=MadeUpSuite(task_list=tasks, cache=cache),
                phases=tuple(Annotation(task=task, phases=PHASES) for task in tasks),
                fit=Fit(steps_per_task=4, batch_size=6),
                evaluation=Evaluation(rollouts_per_task=1, learnt_rollouts=1),
            )
            run_cell(run, folder, simulators=simulators)
            return folder

        yield run


@pytest.fixture(scope="module", params=METHODS)
def cell(request, run_method):
    """The name of a method and the folder of a finished run."""
    return request.param, run_method(request.param)


def weights(folder):
    return {path.name: path.read_bytes() for path in folder.glob("checkpoints/*.safetensors")}


def drawn(folder, task):
    """The tasks whose frames each step of a task was trained on."""
    [path] = folder.glob(f"steps/*-{task}.parquet")
    return [set(row) for row in pq.read_table(path)["sample_tasks"].to_pylist()]


def test_a_method_holds_exactly_its_budget_in_frames_of_their_phases(cell):
    name, folder = cell
    keeps = METHODS[name].keep.keeps_frames
    certificate = read_json(folder / "budget.json")
    assert certificate["frames_per_task"] == (dict.fromkeys(TASKS, BUDGET) if keeps else {})
    assert (folder / "memory").exists() == keeps
    for bucket in Store.open(folder / "memory").memory.buckets if keeps else ():
        span = range(EDGES[bucket.phase.index], EDGES[bucket.phase.index + 1])
        assert len(set(bucket.frames)) == len(bucket.frames)
        assert {frame.frame for frame in bucket.frames} <= set(span)


def test_a_phase_of_one_frame_gives_what_it_has(cell):
    name, folder = cell
    rows = read_json(folder / "budget.json")["frames_per_phase"]
    short = [row["frames"] for row in rows if row["label"] == "grasp"]
    assert len(short) == len(TASKS)
    assert max(short) <= NUM_DEMOS["train"]
    if getattr(METHODS[name].keep, "stride", None):
        assert short == [NUM_DEMOS["train"]] * len(TASKS)


def test_the_first_task_rehearses_nothing_and_the_second_what_is_kept(cell):
    name, folder = cell
    if METHODS[name].joint:
        assert set().union(*drawn(folder, "all")) == set(TASKS)
        return
    assert drawn(folder, "reach") == [{"reach"}] * 4
    keeps = METHODS[name].keep.keeps_frames
    rehearsed = [
        {"reach" if task == IMAGINED else task for task in tasks} for tasks in drawn(folder, "push")
    ]
    assert rehearsed == [{"reach", "push"} if keeps else {"push"}] * 4


def test_a_method_gives_the_same_bits_twice(cell, run_method):
    name, folder = cell
    again = run_method(name)
    assert weights(again) == weights(folder) != {}
    names = [*folder.glob("*.parquet"), *folder.glob("steps/*.parquet"), folder / "budget.json"]
    for path in names:
        assert (again / path.relative_to(folder)).read_bytes() == path.read_bytes(), path.name


def test_a_method_learns_a_single_task_as_it_does_the_first_of_two(cell, run_method):
    name, folder = cell
    alone = run_method(name, TASKS[:1])
    assert (alone / "done.json").exists()
    if not METHODS[name].joint:
        [[first, bits]] = weights(alone).items()
        assert weights(folder)[first] == bits
