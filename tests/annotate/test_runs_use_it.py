"""What was annotated is what a run trains on: ten demonstrations, the steps of each."""

import shlex
from dataclasses import replace

import pytest
from recorded_files import write_grasps

from phaser.annotate.edits import Edit
from phaser.annotate.service import Service
from phaser.annotate.workspace import open_workspace
from phaser.cli import main
from phaser.core.demonstration import Task
from phaser.demos.opening import open_demos
from phaser.experiments.run import Run
from phaser.memory.store import Store
from phaser.methods.table import METHODS
from phaser.phases.autopc import AutoPC
from phaser.replay.preparing import segmenter_for
from phaser.suites.datasets.suite import Datasets
from phaser.suites.sources import ReadingFlags, open_sources

HELD_OUT = 5
PACES = tuple((30 + 2 * k, 20, 40) for k in range(10))


@pytest.fixture(scope="module")
def annotated(tmp_path_factory):
    """Ten demonstrations, annotated: one lacks a phase, one repeats one, one is cut elsewhere."""
    folder = tmp_path_factory.mktemp("annotated")
    cups = write_grasps(folder / "cups.hdf5", paces=PACES)
    path = folder / "s.json"
    with open_workspace(path, who="ada") as (workspace, _):
        opened = open_sources([str(cups)], ReadingFlags(layout="libero"))
        service = Service(opened.tasks, workspace, AutoPC())
        task = service.propose(0, version=0)
        edits = [
            *[Edit(do="delete", episode=1, version=0, step=one) for one in steps_of(task, 1)[1:]],
            Edit(do="set", episode=2, version=0, step=7, name="again"),
            Edit(do="set", episode=2, version=0, step=11, name="approach"),
            Edit(do="move", episode=3, version=0, step=steps_of(task, 3)[0], to=20),
            *[Edit(do="verify", episode=number, version=0) for number in range(10)],
        ]
        for edit in edits:
            task = service.edit(0, versioned(edit, task))
    return (
        cups,
        path,
        {one["episode"]: (one["boundaries"], one["names"]) for one in task["episodes"]},
    )


def steps_of(task, episode):
    return task["episodes"][episode]["boundaries"]


def versioned(edit, task):
    return replace(edit, version=task["version"])


def test_a_run_cuts_every_demonstration_where_it_was_annotated(annotated):
    cups, path, expected = annotated
    suite = Datasets(sources=(cups,), layout="libero", observed="before")
    run = Run(suite=suite).with_phases(path)
    (task,) = suite.tasks()
    demos = [*suite.demos(task, "train"), *suite.demos(task, "heldout")]
    cuts = run.segmenter_of(task.name).segment(demos)
    found = {
        d.index: (list(c.boundaries), list(c.labels)) for d, c in zip(demos, cuts, strict=True)
    }
    assert found == expected
    assert len(expected[1][0]) == 1
    assert expected[2][1].count("approach") == 2
    assert expected[3][0][0] == 20


def test_replay_reads_the_same_steps(annotated):
    cups, path, expected = annotated
    opened = open_demos(cups, layout="libero")
    (task,) = opened.tasks
    demos = list(opened.demos(task))
    segmenter = segmenter_for(path, Task(name=task.name, instruction=""), METHODS["phaser"])
    cuts = segmenter.segment(demos)
    assert [list(one.boundaries) for one in cuts] == [expected[d.index][0] for d in demos]


def test_a_whole_run_keeps_the_frames_of_every_phase_as_annotated(annotated, tmp_path):
    """`phaser run --phases FILE`: with room for all frames, the memory holds each phase whole."""
    cups, path, expected = annotated
    flags = f"--suite.sources {cups} --suite.layout libero --suite.observed before --workers 1"
    flags += " --suite.image-size 16 16 --policy.width 16 --policy.channels 4"
    # All frames of the nine demonstrations that are not held out.
    trained = {number for number in range(10) if number != HELD_OUT}
    budget = sum(sum(PACES[number]) for number in trained)
    flags += f" --fit.steps-per-task 2 --fit.batch-size 8 --phases {path}"
    flags += f" --budget {budget} --method.keep.stride 1"
    assert main.execute(shlex.split(f"run datasets {flags} --out {tmp_path / 'run'}")) == 0
    kept: dict[str, set[tuple[int, int]]] = {}
    for bucket in Store.open(tmp_path / "run" / "memory").memory.buckets:
        kept.setdefault(bucket.phase.label, set()).update((r.demo, r.frame) for r in bucket.frames)
    assert {demo for frames in kept.values() for demo, _ in frames} == trained
    annotated_frames: dict[str, set[tuple[int, int]]] = {}
    for demo in trained:
        boundaries, names = expected[demo]
        edges = [0, *boundaries, sum(PACES[demo])]
        for name, start, stop in zip(names, edges, edges[1:], strict=False):
            annotated_frames.setdefault(name, set()).update((demo, at) for at in range(start, stop))
    assert kept == annotated_frames
