"""The shipped annotation, its statistics as the paper reports them, and the published schema."""

import json
import re
from pathlib import Path

import pytest

from phaser.core.errors import BadInput, BrokenFile, UnknownName
from phaser.phases.nonuniformity import nonuniformity
from phaser.phases.shipped import read_stages
from phaser.phases.stage_info import (
    Annotator,
    EpisodeStages,
    RatioPhase,
    TaskStages,
    read_stage_info,
    write_stage_info,
)

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/stage_info.schema.json").read_text())
KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}
HALVES = (
    RatioPhase(name="approach_cup", start_ratio=0.0, end_ratio=0.5),
    RatioPhase(name="lift_cup", start_ratio=0.5, end_ratio=1.0),
)


def complaints(value, schema, where="$"):
    """What a JSON Schema validator would say, for the words that this schema uses."""
    if not isinstance(value, KINDS[schema["type"]]):
        return [f"{where} is no {schema['type']}"]
    found = [f"{where} is another word"] * ("enum" in schema and value not in schema["enum"])
    if isinstance(value, dict):
        known = schema.get("properties", {})
        more = schema["additionalProperties"]
        found += [
            f"{where} lacks {name}" for name in schema.get("required", []) if name not in value
        ]
        for name, part in value.items():
            inner = known.get(name, more)
            found += complaints(part, inner, f"{where}.{name}") if inner else [f"{where}: {name}"]
    elif isinstance(value, list):
        found += [f"{where} is short"] * (len(value) < schema.get("minItems", 0))
        for part in value:
            found += complaints(part, schema["items"], f"{where}[]")
    elif isinstance(value, str):
        found += [f"{where} is empty"] * (not re.search(schema.get("pattern", ""), value))
    else:
        outside = value < schema.get("minimum", value) or value > schema.get("maximum", value)
        outside |= value <= schema.get("exclusiveMinimum", value - 1)
        outside |= value >= schema.get("exclusiveMaximum", value + 1)
        found += [f"{where} is outside"] * outside
    return found


def test_the_shipped_annotation_has_the_statistics_that_the_paper_reports():
    found = nonuniformity(read_stages("libero-goal"))
    assert (found.num_tasks, found.num_phases) == (10, 22)
    assert f"{found.mean:.2f} {found.deviation:.2f} {found.variation:.2f}" == "0.45 0.20 0.43"
    assert f"{found.median_disparity:.2f} {found.worst_disparity:.2f}" == "1.50 5.67"
    assert f"{found.boost:.1f}" == "3.0"
    assert json.loads(json.dumps(found.to_json()))["num_phases"] == 22


def test_the_shipped_tasks_are_in_the_benchmarks_order_and_fit_their_phases():
    tasks = read_stages("libero-goal")
    assert list(tasks)[:2] == ["open_the_middle_drawer_of_the_cabinet", "put_the_bowl_on_the_stove"]
    assert tasks["turn_on_the_stove"].names == ("approach_knob", "twist_knob")
    assert tasks["open_the_top_drawer_and_put_the_bowl_inside"].phases[1].end_ratio == 0.36
    for name, stages in tasks.items():
        assert stages.instruction == name.replace("_", " ")
        # Object and goal of every phase name occur in the instruction, or belong to the object.
        nouns = {"handle": "drawer", "knob": "stove"}
        for word in {one.rsplit("_", 1)[1] for one in stages.names}:
            assert nouns.get(word, word) in stages.instruction


def test_equal_phases_have_no_disparity_and_no_boost():
    found = nonuniformity({"a": TaskStages(instruction="", phases=HALVES, source="human")})
    assert (found.deviation, found.worst_disparity, found.boost) == (0, 1, 1)
    with pytest.raises(BadInput, match="at least one"):
        nonuniformity({})


def test_an_unknown_annotation_names_those_that_exist(tmp_path):
    with pytest.raises(UnknownName, match="libero-goal"):
        read_stages("libero-gaol")
    with pytest.raises(BrokenFile, match="does not exist"):
        read_stages(str(tmp_path / "none.json"))


def test_what_is_shipped_and_what_is_written_follow_the_published_schema(tmp_path):
    path = tmp_path / "stage_info.json"
    episodes = (
        EpisodeStages(episode=0, num_frames=9, boundaries=(4,)),
        EpisodeStages(
            episode=1, num_frames=9, boundaries=(), sources=(), phases=("b",), state="verified"
        ),
        EpisodeStages(episode=2, num_frames=9, boundaries=(3,), sources=("model",)),
    )
    full = TaskStages(
        instruction="",
        phases=HALVES,
        source="x",
        flag="not verified: y",
        episodes=episodes,
        annotated=Annotator(who="ada", when="2026-11-17T12:00:00+00:00", seconds=3.5),
    )
    write_stage_info(path, {"full": full, **read_stages("libero-goal")})
    assert complaints(json.loads(path.read_text()), SCHEMA) == []
    assert read_stage_info(path)["full"] == full


@pytest.mark.parametrize(
    "change",
    [
        {"episodes": [{"episode": -1, "num_frames": 9, "boundaries": [4]}]},
        {"episodes": [{"episode": 0, "num_frames": 9, "boundaries": ["4"]}]},
        {"episodes": [{"episode": 0, "num_frames": 9}]},
        {"episodes": {}},
        {"flag": 3},
        {"phases": []},
        {"phases": [{"name": "a", "start_ratio": 0, "end_ratio": 1.5}]},
        {"more": 1},
        {"annotated": {"who": "ada"}},
        {"episodes": [{"episode": 0, "num_frames": 9, "boundaries": [4], "state": "done"}]},
    ],
)
def test_what_the_schema_refuses_the_reader_refuses(tmp_path, change):
    path = tmp_path / "stage_info.json"
    write_stage_info(path, {"a": TaskStages(instruction="", phases=HALVES, source="x")})
    content = json.loads(path.read_text())
    content["tasks"]["a"] |= change
    path.write_text(json.dumps(content))
    assert complaints(content, SCHEMA)
    with pytest.raises(BrokenFile, match=r"stage_info\.json"):
        read_stage_info(path)


@pytest.mark.parametrize(
    "episodes",
    [
        [{"episode": 0, "num_frames": 9, "boundaries": [4, 5]}],
        [{"episode": 0, "num_frames": 9, "boundaries": [9]}],
        [{"episode": 0, "num_frames": 9, "boundaries": [4]}] * 2,
    ],
)
def test_steps_that_do_not_cut_the_episode_into_the_phases_are_refused(tmp_path, episodes):
    path = tmp_path / "stage_info.json"
    write_stage_info(path, {"a": TaskStages(instruction="", phases=HALVES, source="x")})
    content = json.loads(path.read_text())
    content["tasks"]["a"]["episodes"] = episodes
    path.write_text(json.dumps(content))
    with pytest.raises(BrokenFile, match="task 'a'"):
        read_stage_info(path)
