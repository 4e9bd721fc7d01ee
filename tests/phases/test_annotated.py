"""Annotated phases in demonstrations that were not looked at."""

import pytest
from synthetic import scripted_demo

from phaser.core.demonstration import Task
from phaser.core.errors import UnknownName
from phaser.phases.annotated import Annotated, Annotation, stages_of
from phaser.phases.autopc import AutoPC
from phaser.phases.stage_info import RatioPhase, TaskStages, write_stage_info

PHASES = (
    RatioPhase(name="reach_it", start_ratio=0.0, end_ratio=12 / 32),
    RatioPhase(name="grasp_it", start_ratio=12 / 32, end_ratio=18 / 32),
    RatioPhase(name="carry_it", start_ratio=18 / 32, end_ratio=1.0),
)
ANNOTATION = Annotation(task="t", phases=PHASES)
DEMOS = [
    scripted_demo((12, 6, 14), index=0),
    scripted_demo((12, 6, 14), index=1),
    scripted_demo((30, 8, 26), index=2),
]


def test_annotated_phases_follow_the_events_of_each_demonstration():
    found = Annotated(annotation=ANNOTATION, auto=AutoPC()).segment(DEMOS)
    assert [one.boundaries for one in found] == [(12, 18), (12, 18), (30, 38)]
    assert {one.labels for one in found} == {("reach_it", "grasp_it", "carry_it")}


def test_by_ratio_they_are_the_papers_rule():
    found = Annotated(annotation=ANNOTATION, auto=AutoPC(boundaries="ratio")).segment(DEMOS)
    assert found[2].boundaries == (24, 36)  # 12/32 and 18/32 of 64 frames


def test_an_annotation_is_found_by_name_then_by_instruction(tmp_path):
    path = tmp_path / "stage_info.json"
    stages = TaskStages(instruction="open it", phases=PHASES, source="human")
    write_stage_info(path, {"open": stages})
    assert stages_of(path, Task(name="open", instruction="")) == stages
    assert stages_of(path, Task(name="other", instruction="open it")) == stages
    with pytest.raises(UnknownName, match="did you mean open"):
        stages_of(path, Task(name="opne", instruction="close it"))
