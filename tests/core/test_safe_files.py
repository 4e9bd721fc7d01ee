"""Files appear whole or not at all, and a folder that cannot be written says so in one line."""

import errno
import os
import stat

import pytest

from phaser.core import files
from phaser.core.errors import BrokenFile, CannotWrite


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "value.json"
    files.write_json(path, {"old": 1})

    def half(temporary):
        temporary.write_text("ha")
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        files.write_atomically(path, half)
    assert files.read_json(path) == {"old": 1}
    assert [one.name for one in tmp_path.iterdir()] == ["value.json"]


def test_others_may_read_what_the_user_lets_them(tmp_path):
    mask = os.umask(0o022)
    try:
        files.write_text(tmp_path / "open.txt", "hello")
        os.umask(0o077)
        files.write_text(tmp_path / "private.txt", "hello")
    finally:
        os.umask(mask)
    modes = [stat.S_IMODE((tmp_path / f"{n}.txt").stat().st_mode) for n in ("open", "private")]
    assert modes == [0o644, 0o600]


def test_a_full_disk_is_one_line_and_keeps_the_old_file(tmp_path):
    path = tmp_path / "value.json"
    files.write_json(path, 1)

    def full(temporary):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(CannotWrite, match="No space left on device") as caught:
        files.write_atomically(path, full)
    assert "\n" not in str(caught.value)
    assert files.read_json(path) == 1


def test_a_missing_or_broken_file_is_named(tmp_path):
    with pytest.raises(BrokenFile, match=r"gone\.json does not exist"):
        files.read_json(tmp_path / "gone.json")
    (tmp_path / "cut.json").write_text('{"a":')
    with pytest.raises(BrokenFile, match=r"cut\.json is not valid JSON"):
        files.read_json(tmp_path / "cut.json")


def test_every_stage_of_a_write_can_be_watched_and_until_the_rename_the_old_file_stands(
    tmp_path, monkeypatch
):
    path = tmp_path / "value.json"
    files.write_json(path, "old")
    seen = []
    monkeypatch.setattr(
        files, "reached", lambda stage, at: seen.append((stage, at, files.read_json(path)))
    )
    files.write_json(path, "new")
    assert [stage for stage, _, _ in seen] == list(files.STAGES)
    assert {at for _, at, _ in seen} == {path}
    assert [found for _, _, found in seen] == ["old"] * 3 + ["new"] * 2


@pytest.mark.parametrize("broken", files.STAGES)
def test_a_full_disk_at_any_stage_leaves_one_whole_file_and_no_litter(
    tmp_path, monkeypatch, broken
):
    path = tmp_path / "value.json"
    files.write_json(path, "old")

    def full(stage, at):
        if stage == broken:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "reached", full)
    with pytest.raises(CannotWrite, match=r"value\.json"):
        files.write_json(path, "new")
    standing = "old" if files.STAGES.index(broken) < files.STAGES.index("renamed") else "new"
    assert files.read_json(path) == standing
    assert [one.name for one in tmp_path.iterdir()] == ["value.json"]


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path):
    files.write_text(tmp_path / "kept.txt", "kept")
    files.write_text(tmp_path / ".hidden", "kept")
    files.write_text(tmp_path / "other.tmp", "kept")
    (tmp_path / ".kept.txt.a1b2.tmp").write_text("ha")
    files.remove_unfinished(tmp_path)
    files.remove_unfinished(tmp_path / "not there")
    assert sorted(one.name for one in tmp_path.iterdir()) == [".hidden", "kept.txt", "other.tmp"]
