"""Clips of rollouts: they show what happened, change no bit of a result, and become a film."""

import json
import shutil

import numpy as np
import pytest
from made_up_run import made_up_run
from PIL import Image

from phaser.cli.main import execute
from phaser.core.errors import BrokenFile
from phaser.evaluation.clips import read_clip, read_clips, upright
from phaser.experiments.cell import run_cell
from phaser.experiments.traces import Traces
from phaser.report.reels import read_reels
from phaser.report.storyboard import close_up_board, retention_board

RESULTS = ("episodes.parquet", "losses.parquet", "routing.json", "budget.json")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same run, filmed and not."""
    place = tmp_path_factory.mktemp("filmed")
    run = made_up_run(place / "cache")
    run_cell(run, place / "plain")
    run_cell(run, place / "filmed", traces=Traces(clips_per_task=1))
    return place


def test_filming_changes_no_bit_of_a_result(runs):
    for name in (*RESULTS, *(f"checkpoints/{path.name}" for path in checkpoints(runs))):
        assert (runs / "filmed" / name).read_bytes() == (runs / "plain" / name).read_bytes()
    assert not (runs / "plain" / "clips.json").exists()


def test_asking_for_clips_of_a_finished_run_says_that_nothing_is_filmed(runs, capsys):
    for name, said in (("plain", 1), ("filmed", 0)):
        assert execute(["run", "--resume", str(runs / name), "--record", "1"]) == 0
        line = f"--record films nothing of {runs / name}: finished without clips"
        assert capsys.readouterr().out.count(line) == said


def checkpoints(runs):
    found = sorted((runs / "plain" / "checkpoints").glob("*.safetensors"))
    assert len(found) == 3
    return found


def test_every_cell_of_the_matrix_has_a_clip_from_its_first_moment_to_its_last(runs):
    clips = read_clips(runs / "filmed")
    places = [(clip.after_index, clip.task_index) for clip in clips]
    assert places == [(after, task) for after in range(3) for task in range(after + 1)]
    for clip in clips:
        # One picture at the start, one every fourth step, one at the end.
        inner = (clip.steps - 1) // 4
        film = read_clip(runs / "filmed" / clip.file)
        # An encoder may join pictures that do not differ.
        assert 1 <= len(film) <= inner + 2
        assert film.shape[1:] == (96, 96, 3)
    assert {clip.success for clip in clips} == {True, False}


def test_a_run_that_goes_on_lists_the_clips_of_both_halves(runs, tmp_path):
    shutil.copytree(runs / "filmed", tmp_path / "run")
    listed = (tmp_path / "run" / "clips.json").read_text()
    (tmp_path / "run" / "done.json").unlink()
    run_cell(made_up_run(runs / "cache"), tmp_path / "run", traces=Traces(clips_per_task=1))
    assert (tmp_path / "run" / "clips.json").read_text() == listed


def test_the_matrix_is_revealed_row_by_row_and_one_task_close_up(runs):
    reels = read_reels([runs / "filmed", runs / "filmed"])
    board = retention_board(reels)
    assert board.num_turns == 3
    assert [sum(tile.turn == turn for tile in board.tiles) for turn in range(3)] == [2, 4, 6]
    boxes = {(tile.left, tile.top) for tile in board.tiles}
    assert len(boxes) == 12
    close = close_up_board(reels[:1], "push")
    assert [tile.turn for tile in close.tiles] == [0, 0]
    said = [line.text for line in close.words]
    assert said[1:3] == ["just learnt", "after hammer"]


@pytest.mark.parametrize("words", [["--out", "a.webp"], ["--task", "reach", "--out", "a.mp4"]])
def test_the_verb_writes_a_film_that_plays(runs, tmp_path, capsys, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    assert execute(["film", str(runs / "filmed"), *words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["bytes"] == (tmp_path / words[-1]).stat().st_size
    if words[-1] == "a.webp":
        with Image.open(tmp_path / "a.webp") as film:
            assert film.n_frames > 6
            assert film.size == (said["width"], said["height"])
    else:
        import av

        with av.open(str(tmp_path / "a.mp4")) as film:
            pictures = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
        assert len(pictures) > 20
        assert pictures[0].shape == (said["height"], said["width"], 3)


def test_mistakes_are_one_line(runs, tmp_path, capsys):
    for words, expected in [
        ([str(runs / "plain")], "holds no clips"),
        ([str(runs / "filmed"), "--task", "pusch"], "did you mean push?"),
        ([str(runs / "filmed"), "--out", "film.gif"], "ends with .webp or .mp4"),
    ]:
        assert execute(["film", *words]) == 2
        assert expected in capsys.readouterr().err
    (tmp_path / "clips.json").write_text('[{"file": "../secret"}]')
    with pytest.raises(BrokenFile, match="does not list clips"):
        read_clips(tmp_path)


def test_pictures_are_set_upright():
    stood = np.arange(12, dtype=np.uint8).reshape(1, 2, 2, 3)
    assert np.array_equal(upright(stood, "upright"), stood)
    assert np.array_equal(upright(stood[:, ::-1], "opengl"), stood)
    # Turned by 180 degrees from OpenGL's order is mirrored.
    assert np.array_equal(upright(stood[:, ::-1][:, ::-1, ::-1], "rotated"), stood)
