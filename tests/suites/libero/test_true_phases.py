"""True phases: what changes and lasts; the files that keep truths and stages beside a recording."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaser.core.errors import BadInput, BrokenFile
from phaser.suites.libero.recorded_truths import (
    STAGES,
    TRUTHS,
    read_stage_names,
    read_truths,
    write_stage_names,
    write_truths,
)
from phaser.suites.libero.true_phases import settled, true_boundaries

CARRIED = ("grasped bowl", "lifted bowl", "on bowl plate")
DRAWER = ("touched drawer", "open drawer")
NOTHING, HELD, UP, THERE = (0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 0, 1)


def rows(*runs):
    return [tuple(map(bool, row)) for row, steps in runs for _ in range(steps)]


def test_phases_begin_where_what_is_true_changes_and_lasts():
    steps = rows((NOTHING, 30), (HELD, 2), (UP, 40), ((1, 0, 1), 3), (THERE, 10))
    assert true_boundaries(CARRIED, steps) == (30, 72)
    assert true_boundaries(CARRIED, steps, shortest=2) == (30, 32, 72, 75)


def test_a_contact_that_flickers_begins_nothing():
    steps = rows((NOTHING, 20), (HELD, 1), (NOTHING, 20), (UP, 9), (NOTHING, 1), (UP, 9))
    assert true_boundaries(CARRIED, steps) == (41,)


def test_a_drawer_that_slides_back_a_little_or_is_brushed_begins_no_phase():
    steps = rows(((0, 0), 9), ((1, 0), 9), ((0, 1), 9), ((0, 0), 9), ((1, 0), 9), ((1, 1), 9))
    assert true_boundaries(DRAWER, steps) == (9, 18)


def test_what_scrapes_along_a_wall_is_still_carried_until_it_is_let_go():
    steps = rows((NOTHING, 9), (UP, 9), (HELD, 9), (UP, 9), (NOTHING, 9), (HELD, 9))
    assert true_boundaries(CARRIED, steps) == (9, 36, 45)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_what_is_settled_stays_and_what_came_before_is_untouched(steps):
    found = settled(DRAWER, steps)
    first = next((k for k, row in enumerate(steps) if row[1]), len(steps))
    assert list(found[:first]) == steps[:first]
    assert set(found[first:]) <= {(False, True)}


@given(st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1), max_size=4))
def test_truths_come_back_as_they_were_written(tmp_path_factory, episodes):
    folder = tmp_path_factory.mktemp("recording")
    write_truths(folder, DRAWER, episodes)
    found = read_truths(folder)
    assert found.names == DRAWER
    assert [list(one) for one in found.episodes] == episodes


def test_stages_come_back_as_they_were_written(tmp_path):
    episodes = (("reach", "reach", "close"), ("hold",))
    write_stage_names(tmp_path, episodes)
    assert read_stage_names(tmp_path) == episodes
    assert len(json.loads((tmp_path / STAGES).read_text())["episodes"][0]["runs"]) == 2


def test_a_recording_without_them_has_none(tmp_path):
    assert read_truths(tmp_path) is None
    assert read_stage_names(tmp_path) is None


def test_rows_need_an_answer_for_every_name(tmp_path):
    with pytest.raises(BadInput, match="for 2 names"):
        write_truths(tmp_path, DRAWER, [[(True,)]])


BROKEN = (
    {"format": 2},
    {"format": 1, "names": 3, "episodes": []},
    {"format": 1, "names": ["open"]},
    {"format": 1, "names": ["open"], "episodes": [{"num_frames": 3, "runs": []}]},
    {
        "format": 1,
        "names": ["open"],
        "episodes": [{"num_frames": 3, "runs": [{"start": 0, "holds": [1]}]}],
    },
    {
        "format": 1,
        "names": ["open"],
        "episodes": [{"num_frames": 3, "runs": [{"start": 1, "holds": [0]}]}],
    },
)


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_file_is_named(tmp_path, content):
    (tmp_path / "meta").mkdir()
    (tmp_path / TRUTHS).write_text(json.dumps(content))
    with pytest.raises(BrokenFile, match=r"truths\.json"):
        read_truths(tmp_path)
