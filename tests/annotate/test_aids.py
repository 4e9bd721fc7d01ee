"""Help while annotating: a second annotation beside, a model's decisions, LeRobot's columns."""

import json
import os

import numpy as np
import pytest
from annotated_sources import made_source
from chat_server import Reply, serving
from recorded_files import write_grasps
from verifying import GOOD, verifier

from phaser.annotate.beside import Beside, difference
from phaser.annotate.edits import Edit
from phaser.annotate.lerobot_copy import LeRobotCopy
from phaser.annotate.marks import Marks
from phaser.annotate.opinion import NoOpinion
from phaser.annotate.service import Aids, Service
from phaser.annotate.workspace import open_workspace
from phaser.cli import main
from phaser.core.demonstration import Task
from phaser.core.errors import BadInput
from phaser.core.segmentation import Segmentation
from phaser.demos.lerobot_layout import Shapes
from phaser.demos.lerobot_writer import Episode, write_dataset
from phaser.demos.source_tasks import SourceTask
from phaser.phases.autopc import AutoPC
from phaser.phases.lerobot_phases import read_phases
from phaser.phases.stage_info import RatioPhase, TaskStages, write_stage_info
from phaser.phases.stages import EpisodeStages

MINE = Marks(num_frames=100).with_boundary(40, name="lift").renamed(0, "reach")


def cut(*steps, labels, num_frames=100):
    return Segmentation.from_boundaries(steps, num_frames=num_frames, labels=labels)


def test_boundaries_within_the_tolerance_are_the_same_and_others_are_named():
    same = difference(MINE, cut(44, labels=["reach", "lift"]))
    assert (same["only_here"], same["only_there"], same["renamed"]) == ([], [], [])
    assert same["agreement"]["f1"] == 1.0
    assert same["agreement"]["same_name"] == 0.96
    other = difference(MINE, cut(20, 41, labels=["reach", "grasp", "carry"]))
    assert (other["only_here"], other["only_there"]) == ([], [20])
    assert other["renamed"] == [[20, 100]]
    assert other["agreement"]["f1"] == 0.667


def test_a_boundary_at_the_same_step_is_never_taken_away_by_a_neighbour():
    other = difference(MINE.with_boundary(37, name="grasp"), cut(40, labels=["reach", "lift"]))
    assert (other["only_here"], other["only_there"]) == ([37], [])


def ratios(*names):
    edges = np.linspace(0, 1, len(names) + 1)
    return tuple(
        RatioPhase(name=name, start_ratio=float(edges[n]), end_ratio=float(edges[n + 1]))
        for n, name in enumerate(names)
    )


def by_bob(path, boundaries):
    episodes = (EpisodeStages(episode=0, num_frames=100, boundaries=boundaries),)
    stages = TaskStages(
        instruction="", phases=ratios("reach", "lift"), source="human", episodes=episodes
    )
    write_stage_info(path, {"cup": stages})
    return path


@pytest.fixture
def serve(tmp_path):
    """Makes a service over one task, with these aids."""
    opened = []

    def make(source=None, **aids):
        manager = open_workspace(tmp_path / "s.json", who="ada")
        workspace, _ = manager.__enter__()
        opened.append(manager)
        service = Service([source or made_source("cup")], workspace, AutoPC(), Aids(**aids))
        return service, service.propose(0, version=0)

    yield make
    for manager in opened:
        manager.__exit__(None, None, None)


def edit(task, do, **more):
    return Edit(do=do, episode=0, version=task["version"], **more)


def test_the_second_file_is_read_again_when_it_changes_and_can_be_taken_over(serve, tmp_path):
    path = by_bob(tmp_path / "bob.json", (20,))
    service, task = serve(beside=Beside(path))
    assert task["beside"]["who"] == "bob.json"
    assert task["beside"]["agreement"]["num_demos"] == 1
    assert task["episodes"][0]["beside"]["only_there"] == [20]
    assert task["episodes"][1]["beside"] is None
    by_bob(path, (60,))
    os.utime(path, ns=(1, 1))
    assert service.task(0)["episodes"][0]["beside"]["boundaries"] == [60]
    path.write_text("{")
    assert service.task(0)["episodes"][0]["beside"]["boundaries"] == [60]
    task = service.take_over(0, edit(task, "take"))
    assert task["episodes"][0]["boundaries"] == [60]
    assert task["beside"]["agreement"]["f1"] == 1.0
    assert (task["undo"], task["episodes"][0]["edited"]) == (
        "take over the phases in demonstration 0",
        True,
    )
    with pytest.raises(BadInput, match="no phases of this demonstration"):
        service.take_over(0, Edit(do="take", episode=1, version=task["version"]))


def test_ratios_alone_are_compared_with_every_demonstration(serve, tmp_path):
    path = tmp_path / "ratios.json"
    stages = TaskStages(instruction="", phases=ratios("reach", "lift"), source="human")
    write_stage_info(path, {"cup": stages})
    _, task = serve(beside=Beside(path))
    assert [one["beside"]["boundaries"] for one in task["episodes"]] == [[50], [53], [50]]


class TestModel:
    """Decisions of a model that is asked over real HTTP."""

    @pytest.fixture(autouse=True)
    def _client(self, monkeypatch):
        pytest.importorskip("openai", reason="the extra 'vlm' is not installed")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def test_decisions_are_accepted_one_by_one_refused_and_undone(self, serve, tmp_path):
        with serving(Reply(json.dumps(GOOD))) as server:
            service, task = serve(verifier=verifier(server.url, tmp_path / "answers"))
            task = service.ask_model(0, 0)
        (asked,) = server.requests
        assert '"put the cup away"' in asked["messages"][1]["content"][0]["text"]
        opinion = task["episodes"][0]["opinion"]
        assert opinion["model"] == "seer"
        actions = [(one["action"], one["step"], one["to"]) for one in opinion["decisions"]]
        assert actions == [
            ("name", 0, 0),
            ("accept", 40, 40),
            ("relocate", 60, 62),
            ("insert", 80, 80),
        ]
        assert task["episodes"][1]["opinion"] is None
        for number in (0, 1, 2):
            task = service.decide(0, edit(task, "accept", phase=number))
        task = service.decide(0, edit(task, "refuse", phase=3))
        first = task["episodes"][0]
        states = [one["state"] for one in first["opinion"]["decisions"]]
        assert states == ["agreed", "agreed", "agreed", "refused"]
        assert first["boundaries"] == [40, 62]
        assert first["names"] == ["approach_cup", "grasp_cup", "transport_cup"]
        assert first["sources"] == ["model", "model"]
        task = service.undo(0, version=task["version"])
        assert task["episodes"][0]["opinion"]["decisions"][2]["state"] == "open"
        task = service.decide(0, edit(task, "accept-all"))
        assert task["episodes"][0]["boundaries"] == [40, 62, 80]
        assert {one["state"] for one in task["episodes"][0]["opinion"]["decisions"]} == {"agreed"}

    def test_a_rejected_candidate_loses_its_boundary_when_the_person_agrees(self, serve, tmp_path):
        answer = {
            "decisions": [
                {"id": "C1", "action": "reject", "new_t": None, "reason": "nothing closes"},
                {"id": "C2", "action": "accept", "new_t": None, "reason": "it lifts"},
            ],
            "vlm_inserted": [],
            "phases": [
                {"name": "approach_cup", "start_ratio": 0, "end_ratio": 0.6},
                {"name": "transport_cup", "start_ratio": 0.6, "end_ratio": 1},
            ],
        }
        with serving(Reply(json.dumps(answer))) as server:
            service, task = serve(verifier=verifier(server.url, tmp_path / "answers"))
            task = service.ask_model(0, 0)
        assert 40 in task["episodes"][0]["boundaries"]
        rejected = task["episodes"][0]["opinion"]["decisions"][1]
        assert (rejected["action"], rejected["reason"], rejected["state"]) == (
            "reject",
            "nothing closes",
            "open",
        )
        task = service.decide(0, edit(task, "accept", phase=1))
        assert 40 not in task["episodes"][0]["boundaries"]

    def test_no_usable_answer_is_one_line_and_changes_nothing(self, serve, tmp_path):
        with serving(Reply("I think…")) as server:
            service, task = serve(verifier=verifier(server.url, tmp_path / "answers"))
            with pytest.raises(NoOpinion, match="seer gave no answer that can be used: two"):
                service.ask_model(0, 0)
        assert service.task(0) == task
        with pytest.raises(BadInput, match="ask it first"):
            service.decide(0, edit(task, "accept"))


def test_what_was_not_named_at_the_start_cannot_be_asked_for(serve):
    service, task = serve()
    assert (task["beside"], task["episodes"][0]["beside"]) == (None, None)
    for refused, words in (
        (lambda: service.ask_model(0, 0), "--verify"),
        (service.write_lerobot, "--lerobot"),
        (lambda: service.take_over(0, edit(task, "take")), "no phases"),
    ):
        with pytest.raises(BadInput, match=words):
            refused()


def test_a_copy_of_the_dataset_holds_the_annotated_phases_and_nothing_is_overwritten(tmp_path):
    root = tmp_path / "mugs"
    episodes = [
        Episode(
            instruction="put the mug away",
            actions=np.zeros((length, 4), np.float32),
            states=np.zeros((length, 2), np.float32),
            images={},
        )
        for length in (20, 30)
    ]
    shapes = Shapes(
        fps=20,
        robot_type="made_up",
        state_names=("a", "b"),
        action_names=("x", "y", "z", "grip"),
        cameras={},
    )
    write_dataset(root, episodes, shapes=shapes, sidecar=None)
    source = SourceTask(
        task=Task(name="mug", instruction=""), source=str(root), num_demos=2, read=list
    )
    marks = {
        number: Marks(num_frames=frames).with_boundary(7, name="lift").renamed(0, "reach")
        for number, frames in enumerate((20, 30))
    }
    copy = LeRobotCopy(out=tmp_path / "copy")
    said = copy.write([source], {"mug": marks})
    assert said == f"{tmp_path / 'copy'} written, 0 of 2 demonstrations verified"
    assert read_phases(tmp_path / "copy") == {n: one.segmentation() for n, one in marks.items()}
    assert str(tmp_path / "copy-2") in copy.write([source], {"mug": marks})
    with pytest.raises(BadInput, match="no phases yet"):
        copy.write([source], {})
    with pytest.raises(BadInput, match="no LeRobot dataset"):
        copy.write([made_source("cup")], {})


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--beside none.json", "none.json"),
        ("--beside s.json", "name one file"),
        ("--lerobot copy", "is no LeRobot dataset"),
        ("--vlm-url http://localhost/v1", "name one with --verify"),
        ("--verify seer", "--vlm-url"),
    ],
)
def test_an_aid_that_cannot_work_is_refused_in_one_line_before_the_page_opens(
    tmp_path, monkeypatch, capsys, flags, words
):
    monkeypatch.chdir(tmp_path)
    write_grasps(tmp_path / "cups.hdf5")
    command = f"annotate cups.hdf5 --layout libero --stage-info s.json --no-browser {flags}"
    assert main.execute(command.split()) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "s.json").exists()
