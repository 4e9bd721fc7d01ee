"""Streams of LeRobot datasets as far as they need no LeRobot: words, order, flags, positions."""

import json
from pathlib import Path

import pytest

from phaser.cli.main import execute
from phaser.core.errors import BadInput, BrokenFile
from phaser.integrations.lerobot.checkpoints import newest, set_aside
from phaser.integrations.lerobot.plan import check_words, next_step
from phaser.integrations.lerobot.progress import Learnt, Progress
from phaser.integrations.lerobot.sources import Source, sources_of
from phaser.integrations.lerobot.words import taken_apart, value_of, without

FLAGS = ("--policy.type=act", "--policy.dim_model=64", "--steps", "100", "--output_dir=out")
A, B = (Source(name=name, repo_id=f"me/{name}") for name in "ab")


def learnt(source: Source, output: Path) -> Learnt:
    return Learnt(
        name=source.name,
        repo_id=source.repo_id,
        root=source.root,
        episodes=None,
        held_out=(8, 9),
        instruction="do it",
        method="phaser",
        output=str(output),
        num_steps=100,
        statistics="all-so-far",
    )


def checkpoint(output: Path, step: int, *, linked: bool = True) -> Path:
    model = output / "checkpoints" / f"{step:06d}" / "pretrained_model"
    model.mkdir(parents=True)
    (model / "train_config.json").write_text("{}")
    last = output / "checkpoints" / "last"
    last.unlink(missing_ok=True)
    if linked:
        last.symlink_to(model.parent.name)
    return model


def test_our_words_are_taken_out_and_lerobots_stay_as_they_were() -> None:
    line = "--steps 5 --stream a b/c --replay.budget_per_phase 3 --resume true --policy.x=[1,2] "
    line += "--replay.share=0.3 --eval.n_episodes -1"
    found = taken_apart(line.split())
    ours = "--stream a b/c --replay.budget-per-phase 3 --replay.share 0.3"
    assert list(found.own) == ours.split()
    assert found.theirs == ("--steps", "5", "--policy.x=[1,2]", "--eval.n_episodes", "-1")
    assert found.resume
    assert not taken_apart(["--resume=false"]).resume
    assert taken_apart(["--resume", "--steps=3"]).theirs == ("--steps=3",)
    with pytest.raises(BadInput, match="--resume=maybe"):
        taken_apart(["--resume=maybe"])


def test_flags_are_found_and_left_out_in_both_ways_of_writing_them() -> None:
    assert value_of(FLAGS, "--steps") == "100"
    assert value_of(FLAGS, "--policy.type") == "act"
    assert value_of(FLAGS, "--seed") is None
    assert without(FLAGS, "--steps", "--policy.") == ["--output_dir=out"]


def test_datasets_are_folders_or_repositories_with_a_name_each(tmp_path: Path) -> None:
    for name in ("x/data", "y/data"):
        (tmp_path / name / "meta").mkdir(parents=True)
        (tmp_path / name / "meta" / "info.json").write_text("{}")
    found = sources_of([str(tmp_path / "x/data"), str(tmp_path / "y/data"), "me/data"])
    assert [one.name for one in found] == ["data", "y-data", "me-data"]
    assert found[0].flags == ["--dataset.repo_id=local/data", f"--dataset.root={tmp_path}/x/data"]
    assert found[2].flags == ["--dataset.repo_id=me/data"]
    with pytest.raises(BadInput, match="twice"):
        sources_of(["me/data", "me/data"])
    with pytest.raises(BadInput, match="no repository name"):
        sources_of(["./nothing-there"])


def test_the_second_dataset_starts_from_the_policy_of_the_first(tmp_path: Path) -> None:
    first = next_step([A, B], FLAGS, [], output=tmp_path, resume=False)
    assert first is not None
    assert first.flags == (
        "--policy.type=act",
        "--policy.dim_model=64",
        "--steps",
        "100",
        "--dataset.repo_id=me/a",
        f"--output_dir={tmp_path}/000-a",
    )
    policy = checkpoint(tmp_path / "000-a", 100)
    done = [learnt(A, tmp_path / "000-a")]
    second = next_step([A, B], FLAGS, done, output=tmp_path, resume=True)
    assert second is not None
    assert not second.resumes
    assert "--policy.type=act" not in second.flags
    assert f"--policy.path={policy.resolve()}" in second.flags
    assert "--policy.dim_model=64" in second.flags
    checkpoint(tmp_path / "001-b", 50)
    done.append(learnt(B, tmp_path / "001-b"))
    assert next_step([A, B], FLAGS, done, output=tmp_path, resume=True) is None


def test_a_killed_task_goes_on_from_its_newest_whole_checkpoint(tmp_path: Path) -> None:
    own = tmp_path / "000-a"
    checkpoint(own, 20)
    model = checkpoint(own, 40)
    step = next_step([A, B], FLAGS, [], output=tmp_path, resume=True)
    assert step is not None
    assert step.resumes
    assert f"--config_path={model.resolve()}/train_config.json" in step.flags
    assert "--resume=true" in step.flags
    assert not any(word.startswith("--policy.") for word in step.flags)


def test_a_checkpoint_counts_when_it_is_linked_or_was_just_unlinked(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    first = checkpoint(tmp_path, 20, linked=False)
    assert newest(tmp_path) is None, "one without a link may be half written"
    second = checkpoint(tmp_path, 40, linked=False)
    assert newest(tmp_path) == second.parent.resolve()
    (tmp_path / "checkpoints" / "last").symlink_to(first.parent.name)
    assert newest(tmp_path) == first.parent.resolve(), "a third may be half written"


def test_an_output_folder_without_a_checkpoint_is_renamed_never_deleted(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / "000-a").mkdir()
        assert set_aside(tmp_path / "000-a").name == f"000-a.interrupted-{number}"


def test_a_stream_that_is_there_is_not_begun_again_unasked(tmp_path: Path) -> None:
    checkpoint(tmp_path / "000-a", 20)
    with pytest.raises(BadInput, match="--resume=true"):
        next_step([A, B], FLAGS, [], output=tmp_path, resume=False)
    done = [learnt(A, tmp_path / "000-a")]
    with pytest.raises(BadInput, match=r"1 of 2 datasets .* are learnt already"):
        next_step([A, B], FLAGS, done, output=tmp_path, resume=False)
    with pytest.raises(BadInput, match="same datasets in the same order"):
        next_step([B, A], FLAGS, done, output=tmp_path, resume=True)


def test_flags_that_contradict_a_stream_are_refused() -> None:
    with pytest.raises(BadInput, match=r"--dataset\.repo_id beside --stream"):
        check_words(["--dataset.repo_id=me/a"], num_datasets=2)
    with pytest.raises(BadInput, match="--save_checkpoint=false"):
        check_words(["--save_checkpoint=false"], num_datasets=2)
    check_words(["--save_checkpoint=false"], num_datasets=1)


def test_finished_tasks_are_read_back_and_damage_is_named(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    assert progress.learnt() == ()
    tasks = (learnt(A, tmp_path / "a"), learnt(B, tmp_path / "b"))
    for one in tasks:
        progress.add(one)
    assert progress.learnt() == tasks
    (progress.folder / "stream.json").write_text(json.dumps({"version": 9, "tasks": []}))
    with pytest.raises(BrokenFile, match="version 9"):
        progress.learnt()
    (progress.folder / "stream.json").write_text(json.dumps({"version": 1, "tasks": [{}]}))
    with pytest.raises(BrokenFile, match="restore it"):
        progress.learnt()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", "which datasets? Give --stream"),
        ("--stream me/a me/b", "Give --output_dir"),
        ("--stream me/a --output_dir=o --replay.buget 3", "did you mean --replay.budget"),
        ("--stream me/a --replay.budget 3 --replay.budget-total 9", "not allowed with"),
        ("--stream me/a --output_dir=o --replay.share 1.5", "'1.5' is not a share"),
        ("--stream me/a --output_dir=o --replay.gripper 6", "need --replay.motion"),
        ("--stream me/a --output_dir=o --replay.name x", "--replay.name is for one dataset"),
    ],
)
def test_mistakes_cost_one_line_before_anything_is_loaded(
    words: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["lerobot-train", *words.split()]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1


def test_without_lerobot_the_one_line_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lerobot", None)
    words = ["--stream", "me/a", f"--output_dir={tmp_path}"]
    assert execute(["lerobot-train", *words]) == 2
    assert "pip install lerobot" in capsys.readouterr().err
