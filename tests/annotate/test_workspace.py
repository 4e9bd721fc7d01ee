"""An annotation on the disk survives kills, undoes after a restart, and refuses what it missed."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phaser.annotate.marks import Marks
from phaser.annotate.workspace import Conflict, open_workspace
from phaser.core import files
from phaser.core.errors import BadInput, BrokenFile
from phaser.core.locks import InUse
from phaser.phases.stage_info import RatioPhase, TaskStages, read_stage_info, write_stage_info

PLAIN = Marks(num_frames=50).with_boundary(20, name="lift").renamed(0, "reach")


def save(workspace, marks, episode=0, task="cup", **more):
    version = workspace.version(task)
    workspace.change(task, {episode: marks}, what="edit", version=version, **more)


def test_every_change_is_in_the_file_at_once_with_who_and_how_long(tmp_path):
    path = tmp_path / "s.json"
    with open_workspace(path, who="ada") as (workspace, remarks):
        workspace.instructions["cup"] = "lift the cup"
        save(workspace, PLAIN, seconds=3.0)
        save(workspace, PLAIN.verified(), seconds=1000.0)
        found = read_stage_info(path)["cup"]
    assert remarks == []
    assert (found.instruction, found.source, found.names) == ("lift the cup", "human", PLAIN.names)
    assert found.phases[0].end_ratio == 20 / 50
    assert found.episodes[0].state == "verified"
    assert (found.annotated.who, found.annotated.seconds) == ("ada", 63.0)  # a pause counts 60 s


def test_undo_and_redo_go_on_after_a_restart(tmp_path):
    path = tmp_path / "s.json"
    second = PLAIN.moved(20, 25)
    with open_workspace(path, who="ada") as (workspace, _):
        save(workspace, PLAIN)
        save(workspace, second)
    with open_workspace(path, who="ada") as (workspace, _):
        assert workspace.marks("cup") == {0: second}
        workspace.undo("cup", version=workspace.version("cup"))
        assert read_stage_info(path)["cup"].episodes[0].boundaries == (20,)
    with open_workspace(path, who="ada") as (workspace, _):
        workspace.undo("cup", version=workspace.version("cup"))
        assert "cup" not in read_stage_info(path)
        with pytest.raises(BadInput, match="nothing to undo"):
            workspace.undo("cup", version=workspace.version("cup"))
        workspace.redo("cup", version=workspace.version("cup"))
        workspace.redo("cup", version=workspace.version("cup"))
        assert workspace.marks("cup") == {0: second}


def test_a_change_of_what_was_not_seen_is_refused_and_loses_nothing(tmp_path):
    with open_workspace(tmp_path / "s.json", who="ada") as (workspace, _):
        save(workspace, PLAIN)
        with pytest.raises(Conflict, match="changed elsewhere"):
            workspace.change("cup", {0: PLAIN.verified()}, what="x", version=0)
        workspace.change("pan", {0: PLAIN}, what="x", version=0)
        assert workspace.marks("cup") == {0: PLAIN}


def test_one_process_at_a_time(tmp_path):
    with (
        open_workspace(tmp_path / "s.json", who="ada"),
        pytest.raises(InUse),
        open_workspace(tmp_path / "s.json", who="bob"),
    ):
        pass


def test_a_last_line_cut_short_is_left_out_and_said(tmp_path):
    path = tmp_path / "s.json"
    with open_workspace(path, who="ada") as (workspace, _):
        save(workspace, PLAIN)
    journal = tmp_path / "s.json.journal"
    with journal.open("ab") as stream:
        stream.write(b'{"kind": "edit", "task": "cu')
    with open_workspace(path, who="ada") as (workspace, remarks):
        assert workspace.marks("cup") == {0: PLAIN}
        assert "not written whole" in remarks[0]
    assert journal.read_bytes().endswith(b"}\n")


def test_a_line_changed_in_the_middle_is_refused(tmp_path):
    path = tmp_path / "s.json"
    with open_workspace(path, who="ada") as (workspace, _):
        save(workspace, PLAIN)
        save(workspace, PLAIN.verified())
    journal = tmp_path / "s.json.journal"
    lines = journal.read_text().splitlines()
    lines[1] = lines[1].replace('"reach"', "3")
    journal.write_text("\n".join(lines) + "\n")
    with pytest.raises(BrokenFile, match="line 2"), open_workspace(path, who="ada"):
        pass


def test_a_file_that_another_program_changed_counts_and_the_journal_is_kept(tmp_path):
    path = tmp_path / "s.json"
    with open_workspace(path, who="ada") as (workspace, _):
        save(workspace, PLAIN)
    other = (RatioPhase(name="wipe", start_ratio=0.0, end_ratio=1.0),)
    write_stage_info(path, {"pan": TaskStages(instruction="", phases=other, source="human")})
    with open_workspace(path, who="ada") as (workspace, remarks):
        assert workspace.marks("cup") == {}
        assert "changed by another program" in remarks[0]
        save(workspace, PLAIN)
        assert set(read_stage_info(path)) == {"cup", "pan"}
    assert (tmp_path / "s.json.journal.1").exists()


@pytest.mark.parametrize("stage", files.STAGES)
def test_an_end_at_any_stage_of_saving_loses_at_most_that_change(tmp_path, stage):
    """The process is killed while the file is written; the journal has the change already."""
    script = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        from phaser.annotate.marks import Marks
        from phaser.annotate.workspace import open_workspace
        from phaser.core import files

        plain = Marks(num_frames=50).with_boundary(20, name="lift").renamed(0, "reach")
        with open_workspace(Path(sys.argv[1]), who="ada") as (workspace, _):
            workspace.change("cup", {0: plain}, what="x", version=0)
            def end(stage, path):
                if stage == sys.argv[2] and path.name == "s.json":
                    os.kill(os.getpid(), signal.SIGKILL)
            files.reached = end
            workspace.change("cup", {0: plain.moved(20, 30)}, what="x", version=1)
        """
    )
    path = tmp_path / "s.json"
    done = subprocess.run([sys.executable, "-c", script, path, stage], env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    assert read_stage_info(path)["cup"].episodes[0].boundaries in ((20,), (30,))
    with open_workspace(path, who="ada") as (workspace, _):
        assert workspace.marks("cup")[0].boundaries == (30,)
        assert read_stage_info(path)["cup"].episodes[0].boundaries == (30,)
        workspace.undo("cup", version=2)
        assert read_stage_info(path)["cup"].episodes[0].boundaries == (20,)


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["cup", "pan"]), st.integers(0, 2), st.integers(1, 49)),
        st.sampled_from(["undo", "redo", "restart"]),
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(actions=ACTIONS)
def test_any_history_is_the_same_after_a_restart(tmp_path_factory, actions):
    path = tmp_path_factory.mktemp("history") / "s.json"
    expected: dict[str, list[dict[int, int]]] = {"cup": [{}], "pan": [{}]}
    place = {"cup": 0, "pan": 0}
    manager = open_workspace(path, who="ada")
    workspace, _ = manager.__enter__()
    for action in actions:
        if action == "restart":
            manager.__exit__(None, None, None)
            manager = open_workspace(path, who="ada")
            workspace, remarks = manager.__enter__()
            assert remarks == []
        elif action in ("undo", "redo"):
            by = -1 if action == "undo" else 1
            if 0 <= place["cup"] + by < len(expected["cup"]):
                getattr(workspace, action)("cup", version=workspace.version("cup"))
                place["cup"] += by
        else:
            task, episode, step = action
            now = expected[task][place[task]]
            if now.get(episode) == step:
                continue
            marks = Marks(num_frames=50).with_boundary(step, name="b").renamed(0, "a")
            save(workspace, marks, episode, task)
            expected[task] = [*expected[task][: place[task] + 1], now | {episode: step}]
            place[task] += 1
        for task in expected:
            found = {at: one.boundaries[0] for at, one in workspace.marks(task).items()}
            assert found == expected[task][place[task]]
    manager.__exit__(None, None, None)
    if path.exists():
        stages = read_stage_info(path)
        for task in expected:
            episodes = stages[task].episodes if task in stages else ()
            assert {one.episode: one.boundaries[0] for one in episodes} == (
                expected[task][place[task]]
            )


def test_the_file_is_plain_json_of_the_newest_version(tmp_path):
    with open_workspace(tmp_path / "s.json", who="ada") as (workspace, _):
        save(workspace, PLAIN)
    assert json.loads((tmp_path / "s.json").read_text())["version"] == 2
