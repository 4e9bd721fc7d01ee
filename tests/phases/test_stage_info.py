"""Annotated ratios: written, read back, and refused when they do not tile the task."""

import json

import pytest
from synthetic import scripted_demo

from phaser.core.errors import BadInput, BrokenFile
from phaser.phases.stage_info import (
    Annotator,
    EpisodeStages,
    RatioPhase,
    RatioSegmenter,
    TaskStages,
    read_stage_info,
    write_stage_info,
)

PULL = (
    RatioPhase(name="approach", start_ratio=0.0, end_ratio=0.85),
    RatioPhase(name="pull", start_ratio=0.85, end_ratio=1.0),
)


def entry(**changes):
    phases = [
        {"name": "approach", "start_ratio": 0, "end_ratio": 0.85},
        {"name": "pull", "start_ratio": 0.85, "end_ratio": 1.0},
    ]
    return {"instruction": "open it", "source": "human", "phases": phases, **changes}


def test_what_is_written_is_read_back(tmp_path):
    tasks = {"open": TaskStages(instruction="open it", phases=PULL, source="human")}
    write_stage_info(tmp_path / "stage_info.json", tasks)
    assert read_stage_info(tmp_path / "stage_info.json") == tasks


def test_it_says_of_every_boundary_whether_an_event_or_the_ratio_put_it_there(tmp_path):
    episodes = (
        EpisodeStages(episode=0, num_frames=20, boundaries=(17,), sources=("event",)),
        EpisodeStages(episode=1, num_frames=40, boundaries=(34,)),
    )
    stages = TaskStages(instruction="open it", phases=PULL, source="auto", episodes=episodes)
    write_stage_info(tmp_path / "stage_info.json", {"open": stages})
    assert read_stage_info(tmp_path / "stage_info.json")["open"].episodes == episodes


@pytest.mark.parametrize("sources", [["guess"], ["event", "ratio"], "event", [3]])
def test_sources_that_do_not_fit_the_boundaries_are_refused(tmp_path, sources):
    episode = {"episode": 0, "num_frames": 20, "boundaries": [17], "sources": sources}
    path = tmp_path / "stage_info.json"
    path.write_text(json.dumps({"open": entry(episodes=[episode])}))
    with pytest.raises(BrokenFile, match="sources"):
        read_stage_info(path)


def test_ratios_become_phases_of_every_demonstration():
    demos = [scripted_demo((10, 5, 5)), scripted_demo((20, 10, 10))]
    found = RatioSegmenter(phases=PULL).segment(demos)
    assert [one.boundaries for one in found] == [(17,), (34,)]
    assert found[0].labels == ("approach", "pull")


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0.0, 0.5), (0.6, 1.0)], "start at 0.5"),
        ([(0.0, 0.5), (0.4, 1.0)], "start at 0.5"),
        ([(0.0, 0.9)], r"expected 1\.0"),
        ([(0.1, 1.0)], "start at 0.0"),
        ([(0.0, 0.0), (0.0, 1.0)], "end later"),
        ([(0.0, float("nan")), (float("nan"), 1.0)], "nan"),
        ([], "no phases"),
    ],
)
def test_ratios_that_do_not_tile_the_task_are_refused(spans, message):
    phases = tuple(
        RatioPhase(name=f"p{at}", start_ratio=a, end_ratio=b) for at, (a, b) in enumerate(spans)
    )
    with pytest.raises(BadInput, match=message):
        RatioSegmenter(phases=phases)


@pytest.mark.parametrize("names", [("", "pull"), (" ", "pull"), ("pull", "pull")])
def test_names_must_be_there_and_differ(names):
    phases = tuple(
        RatioPhase(name=name, start_ratio=a, end_ratio=b)
        for name, a, b in zip(names, (0.0, 0.5), (0.5, 1.0), strict=True)
    )
    with pytest.raises(BadInput, match="neighbours with different ones"):
        RatioSegmenter(phases=phases)


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"open": 3},
        {"open": entry(extra=1)},
        {"open": entry(phases="approach")},
        {"open": entry(phases=[])},
        {"open": entry(phases=[{"name": "a", "start_ratio": "0", "end_ratio": 1}])},
        {"open": entry(phases=[{"name": "a", "start_ratio": False, "end_ratio": 1}])},
        {"open": entry(phases=[{"name": 7, "start_ratio": 0, "end_ratio": 1}])},
        {"open": entry(instruction=None)},
    ],
)
def test_a_file_of_another_shape_is_refused_by_name(tmp_path, content):
    path = tmp_path / "stage_info.json"
    path.write_text(json.dumps(content))
    with pytest.raises(BrokenFile, match=r"stage_info\.json"):
        read_stage_info(path)


def test_nan_in_a_file_is_refused(tmp_path):
    path = tmp_path / "stage_info.json"
    path.write_text(json.dumps({"open": entry()}).replace("1.0", "NaN"))
    with pytest.raises(BrokenFile, match="open"):
        read_stage_info(path)


def test_an_episode_may_lack_a_phase_or_repeat_one_and_the_file_says_so(tmp_path):
    episodes = (
        EpisodeStages(episode=0, num_frames=20, boundaries=(17,), sources=("human",)),
        EpisodeStages(episode=1, num_frames=20, boundaries=(), phases=("pull",), state="verified"),
        EpisodeStages(
            episode=2,
            num_frames=30,
            boundaries=(9, 14, 20),
            sources=("human", "model", "event"),
            phases=("approach", "pull", "approach", "pull"),
            state="candidate",
        ),
    )
    stages = TaskStages(
        instruction="open it",
        phases=PULL,
        source="human",
        episodes=episodes,
        annotated=Annotator(who="ada", when="2026-11-17T12:00:00+00:00", seconds=61.5),
    )
    write_stage_info(tmp_path / "stage_info.json", {"open": stages})
    assert read_stage_info(tmp_path / "stage_info.json") == {"open": stages}
    found = stages.episode_segmenter().segment(
        [
            scripted_demo((10, 5, 5), index=0),
            scripted_demo((10, 5, 5), index=1),
            scripted_demo((10, 10, 10), index=2),
        ]
    )
    assert [one.labels for one in found] == [
        ("approach", "pull"),
        ("pull",),
        ("approach", "pull", "approach", "pull"),
    ]


def test_the_version_before_is_still_read_and_a_later_one_is_refused(tmp_path):
    path = tmp_path / "stage_info.json"
    path.write_text(json.dumps({"open": entry()}))
    old = read_stage_info(path)
    write_stage_info(path, old)
    content = json.loads(path.read_text())
    assert (content["format"], content["version"]) == ("phaser-stage-info", 2)
    assert read_stage_info(path) == old
    path.write_text(json.dumps({**content, "version": 3}))
    with pytest.raises(BrokenFile, match="version 3"):
        read_stage_info(path)


def test_a_task_of_the_old_version_may_be_called_format(tmp_path):
    path = tmp_path / "stage_info.json"
    path.write_text(json.dumps({"format": entry()}))
    assert list(read_stage_info(path)) == ["format"]


@pytest.mark.parametrize(
    "changes",
    [
        {"annotated": {"who": "ada"}},
        {"annotated": {"who": "ada", "when": "now", "seconds": -1}},
        {"episodes": [{"episode": 0, "num_frames": 9, "boundaries": [3], "state": "done"}]},
        {"episodes": [{"episode": 0, "num_frames": 9, "boundaries": [3], "phases": "ab"}]},
        {"episodes": [{"episode": 0, "num_frames": 9, "boundaries": [3], "phases": ["a", "a"]}]},
        {"episodes": [{"episode": 0, "num_frames": 9, "boundaries": [3], "phases": ["a"]}]},
    ],
)
def test_what_people_add_is_checked_too(tmp_path, changes):
    path = tmp_path / "stage_info.json"
    path.write_text(json.dumps({"open": entry(**changes)}))
    with pytest.raises(BrokenFile, match="open"):
        read_stage_info(path)
