"""Annotated phases in demonstrations that were not looked at."""

from dataclasses import replace

import pytest
from synthetic import scripted_demo

from phaser.core.demonstration import Task
from phaser.core.errors import BadInput, UnknownName
from phaser.phases.annotated import Annotated, Annotation, annotations_of
from phaser.phases.autopc import AutoPC
from phaser.phases.stage_info import EpisodeStages, RatioPhase, TaskStages, write_stage_info

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
    found = Annotated(annotation=ANNOTATION, segmenter=AutoPC()).segment(DEMOS)
    assert [one.boundaries for one in found] == [(12, 18), (12, 18), (30, 38)]
    assert {one.labels for one in found} == {("reach_it", "grasp_it", "carry_it")}


def test_by_ratio_they_are_the_papers_rule():
    found = Annotated(annotation=ANNOTATION, segmenter=AutoPC(boundaries="ratio")).segment(DEMOS)
    assert found[2].boundaries == (24, 36)  # 12/32 and 18/32 of 64 frames


def test_an_annotation_is_found_by_name_then_by_instruction(tmp_path):
    path = tmp_path / "stage_info.json"
    stages = TaskStages(instruction="open it", phases=PHASES, source="human")
    write_stage_info(path, {"open": stages})
    tasks = [Task(name="open", instruction=""), Task(name="other", instruction="open it")]
    assert annotations_of(path, tasks) == (
        Annotation(task="open", phases=PHASES),
        Annotation(task="other", phases=PHASES),
    )
    with pytest.raises(UnknownName, match="did you mean open"):
        annotations_of(path, [Task(name="opne", instruction="close it")])


def test_a_shipped_annotation_is_found_by_its_name():
    stove = Task(name="put_the_bowl_on_the_stove", instruction="")
    [found] = annotations_of("libero-goal", [stove])
    assert len(found.phases) > 1
    with pytest.raises(UnknownName, match="did you mean libero-goal"):
        annotations_of("libero-gaol", [])


STEPS = EpisodeStages(episode=1, num_frames=32, boundaries=(10, 20))


def test_annotated_steps_of_a_demonstration_are_kept_and_carried_to_the_others():
    """The boundaries of demonstration 1 are two steps off the events that the others have."""
    known = replace(ANNOTATION, episodes=(STEPS,))
    found = Annotated(annotation=known, segmenter=AutoPC(boundaries="ratio")).segment(DEMOS)
    assert [one.boundaries for one in found] == [(10, 20), (10, 20), (20, 40)]


def test_steps_of_a_demonstration_of_another_length_are_refused():
    wrong = replace(ANNOTATION, episodes=(replace(STEPS, episode=2),))
    with pytest.raises(BadInput, match=r"demonstration 2 of 't' has 64 frames, its annotation 32"):
        Annotated(annotation=wrong).segment(DEMOS)


def test_a_name_may_be_written_in_another_way(tmp_path):
    lift = TaskStages(instruction="Lift", phases=PHASES, source="hand")
    write_stage_info(tmp_path / "s.json", {"Lift": lift})
    found = annotations_of(tmp_path / "s.json", [Task(name="lift", instruction="lift the cube")])
    assert (found[0].task, found[0].phases) == ("lift", PHASES)


def test_two_names_alike_are_never_guessed_between(tmp_path):
    lift = TaskStages(instruction="", phases=PHASES, source="hand")
    write_stage_info(tmp_path / "s.json", {"Li-ft": lift, "LIFT": lift})
    with pytest.raises(UnknownName):
        annotations_of(tmp_path / "s.json", [Task(name="lift", instruction="lift the cube")])


def test_a_demonstration_that_lacks_a_phase_or_repeats_one_keeps_its_own_phases():
    own = (
        EpisodeStages(episode=0, num_frames=32, boundaries=(12, 18)),
        EpisodeStages(
            episode=1, num_frames=32, boundaries=(9, 20, 25), phases=("b", "grasp_it", "b", "c")
        ),
        EpisodeStages(episode=2, num_frames=64, boundaries=(), phases=("reach_it",)),
    )
    other = scripted_demo((12, 6, 14), index=3)
    annotated = Annotated(annotation=replace(ANNOTATION, episodes=own))
    found = annotated.segment([*DEMOS, other])
    assert [one.boundaries for one in found[:3]] == [(12, 18), (9, 20, 25), ()]
    assert found[1].labels == ("b", "grasp_it", "b", "c")
    assert found[2].labels == ("reach_it",)
    assert found[3].labels == ANNOTATION.names
    assert annotated.max_phases == 5
