"""`phaser memory`: what a memory holds, that it is whole, that frames go when they should."""

import io
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from kept_memories import CAMERA, alphabrain_sample, pixels_of, write_memory

from phaser.cli import main
from phaser.cli.text_table import file_size
from phaser.memory.codecs import ImageCodec
from phaser.memory.store import Store

Said = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_memory(tmp_path / "memory")
    return tmp_path / "memory"


def run(words: str) -> int:
    return main.execute(["memory", *shlex.split(words)])


def test_the_table_tells_tasks_phases_frames_bytes_and_age(folder: Path, capsys: Said) -> None:
    assert run(f"show {folder}") == 0
    shown = capsys.readouterr().out.splitlines()
    store = Store.open(folder)
    assert shown[0].split() == ["task", "phase", "frames", "bytes", "added", "images"]
    lift = shown[1].split()
    assert (lift[0], lift[1], lift[-1]) == ("lift", "12", "webp-lossless")
    assert lift[-2] == store.tasks[0].added[:10]
    assert [line.split()[:3] for line in shown[2:5]] == [
        [str(k + 1), f"phase_{k}", "4"] for k in range(3)
    ]
    assert shown[-1].startswith("2 tasks, 24 frames, ")
    assert shown[-1].endswith(f"oldest {store.tasks[0].added[:10]} · method phaser")


def test_json_holds_the_whole_manifest_and_adds_up(folder: Path, capsys: Said) -> None:
    assert run(f"show {folder} --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["num_frames"], found["about"]["method"]) == (24, "phaser")
    assert found["num_bytes"] == sum(path.stat().st_size for path in (folder / "tasks").iterdir())
    for task in found["tasks"]:
        assert task["lossless"] is True
        assert sum(phase["frames"] for phase in task["phases"]) == task["num_frames"] == 12


def test_an_empty_memory_is_shown_as_empty(tmp_path: Path, capsys: Said) -> None:
    Store.create(tmp_path / "memory", about={})
    assert run(f"show {tmp_path / 'memory'}") == 0
    assert "no task is stored yet" in capsys.readouterr().out


def test_what_is_no_memory_is_refused_in_one_line(tmp_path: Path, capsys: Said) -> None:
    for action in ("show", "verify", "forget --task x", "export --to out"):
        assert run(f"{action} {tmp_path}") == 2
        said = capsys.readouterr().err
        assert "holds no memory" in said
        assert said.count("\n") == 1


@pytest.mark.parametrize("where", ["sheet.html", "pictures"])
def test_the_contact_sheet_shows_every_phase_in_one_file(
    where: str, folder: Path, tmp_path: Path, capsys: Said
) -> None:
    assert run(f"show {folder} --pictures {tmp_path / where} --pictures-per-phase 3") == 0
    page = tmp_path / where
    page = page if page.suffix == ".html" else page / "contact-sheet.html"
    assert f"pictures: {page}" in capsys.readouterr().out
    text = page.read_text()
    assert text.count("<img") == 2 * 3 * 3
    assert text.count("3 of 4 frames, evenly chosen") == 6
    assert "http" not in text
    assert "<script" not in text


def test_pictures_need_images_and_a_camera_that_exists(
    folder: Path, tmp_path: Path, capsys: Said
) -> None:
    blind = write_memory(tmp_path / "blind", sample_of=lambda ref: {"action": [1.0, 2.0]})
    assert run(f"show {blind.path} --pictures {tmp_path / 'a.html'}") == 2
    assert "holds no images, only action" in capsys.readouterr().err
    assert run(f"show {folder} --pictures {tmp_path / 'a.html'} --camera front") == 2
    assert f"known: {CAMERA}" in capsys.readouterr().err
    assert not (tmp_path / "a.html").exists()


def test_a_whole_memory_is_verified_file_by_file(folder: Path, capsys: Said) -> None:
    assert run(f"verify {folder}") == 0
    shown = capsys.readouterr().out
    assert shown.count(" intact") == 3
    assert "all 3 files are as they were written" in shown


def test_what_a_killed_process_left_is_shown_and_is_no_damage(folder: Path, capsys: Said) -> None:
    (folder / "tasks" / ".half.safetensors.tmp").write_bytes(b"half")
    assert run(f"verify {folder}") == 0
    (line,) = (one for one in capsys.readouterr().out.splitlines() if ".half" in one)
    assert line.endswith("4 B  left by a killed process; the next writer clears it")
    assert run(f"verify {folder} --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_by_a_killed_process"] == ["tasks/.half.safetensors.tmp"]


@pytest.mark.parametrize("place", [0, -1])
def test_a_damaged_file_is_named_and_the_others_are_read_all_the_same(
    place: int, folder: Path, capsys: Said
) -> None:
    path = sorted((folder / "tasks").iterdir())[place]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    assert run(f"verify {folder}") == 2
    shown = capsys.readouterr()
    states = {line.split()[0]: line.split()[-1] for line in shown.out.splitlines()[1:]}
    name = str(path.relative_to(folder))
    assert states == {**dict.fromkeys(states, "intact"), name: "broken"}
    assert len(states) == 3
    assert f"phaser: {name} is not as it was written" in shown.err
    assert run(f"verify {folder} --json") == 2
    found = json.loads(capsys.readouterr().out)
    assert [one["file"] for one in found["files"] if not one["intact"]] == [name]


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"short")])
def test_a_shard_that_is_gone_or_cut_off_is_one_line_among_the_others(
    damage: Callable[[Path], object], folder: Path, capsys: Said
) -> None:
    shard = sorted((folder / "tasks").iterdir())[0]
    damage(shard)
    assert run(f"verify {folder}") == 2
    shown = capsys.readouterr()
    assert [line.split()[-1] for line in shown.out.splitlines()[1:]] == [
        *("intact", "broken", "intact")
    ]
    assert shard.name in shown.err


def test_a_changed_manifest_is_named(folder: Path, capsys: Said) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace("do lift", "do lost"))
    assert run(f"verify {folder}") == 2
    assert "manifest.json was changed after it was written" in capsys.readouterr().err


def test_forgetting_a_task_leaves_none_of_its_bytes(folder: Path, capsys: Said) -> None:
    store = Store.open(folder)
    frames = [ref for bucket in store.shard("lift").buckets() for ref in bucket.frames]
    codec = ImageCodec()
    kept = [codec.encode(pixels_of(ref)) for ref in frames]
    before = b"".join(path.read_bytes() for path in (folder / "tasks").iterdir())
    assert all(content in before for content in kept)
    assert run(f"forget {folder} --task lift --yes") == 0
    shown = capsys.readouterr().out
    gone = store.tasks[0]
    assert f"overwritten with zeros and removed: {gone.shard} ({gone.num_bytes} bytes)" in shown
    assert "left: 1 task, 12 frames" in shown
    after = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert not any(content in after for content in kept)
    assert [task.name for task in Store.open(folder).tasks] == ["push"]
    assert run(f"verify {folder}") == 0


def test_forgetting_an_episode_keeps_the_others(folder: Path, capsys: Said) -> None:
    before = Store.open(folder)
    frames = [ref for bucket in before.shard("push").buckets() for ref in bucket.frames]
    gone = [ref for ref in frames if ref.demo == 2]
    assert gone
    assert run(f"forget {folder} --task push --episode 2 --yes --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["num_frames"], found["left"]["num_frames"]) == (len(gone), 24 - len(gone))
    assert found["overwritten_and_removed"]["file"] == before.tasks[1].shard
    after = Store.open(folder)
    left = [ref for bucket in after.shard("push").buckets() for ref in bucket.frames]
    assert left == [ref for ref in frames if ref.demo != 2]
    codec = ImageCodec()
    content = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert not any(codec.encode(pixels_of(ref)) in content for ref in gone)
    assert all(codec.encode(pixels_of(ref)) in content for ref in left)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code"), [("yes\n", 0), ("no\n", 2), ("", 2)])
def test_a_person_is_asked_before_anything_goes(
    answer: str, code: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    assert run(f"forget {folder} --task lift") == code
    said = capsys.readouterr().err
    assert "will forget lift: all, 12 of 12 frames" in said
    assert ("nothing was forgotten" in said) == (code == 2)
    assert len(Store.open(folder).tasks) == (1 if code == 0 else 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--task lift", "would forget lift: all, 12 of 12 frames"),
        ("--task lifd --yes", "did you mean lift?"),
        ("--task lift --episode 9 --yes", "keeps no frame of episode 9; it keeps 0, 1, 2, 3"),
    ],
)
def test_nothing_goes_by_mistake_or_without_a_yes(
    words: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert run(f"forget {folder} {words}") == 2
    assert said in capsys.readouterr().err
    assert Store.open(folder).num_frames == 24


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "say show, verify, forget, repair, export"),
        ("shw x", "did you mean show"),
        ("--help", None),
    ],
)
def test_the_actions_explain_themselves(words: str, said: str | None, capsys: Said) -> None:
    assert run(words) == (0 if said is None else 2)
    shown = capsys.readouterr()
    if said is None:
        assert "phaser memory forget DIR --task NAME" in shown.out
    else:
        assert said in shown.err


@pytest.mark.parametrize("sample_of", [alphabrain_sample])
def test_names_from_a_memory_cannot_steer_terminal_or_page(
    sample_of: Callable[..., object], tmp_path: Path, capsys: Said
) -> None:
    folder = tmp_path / "memory"
    write_memory(folder, tasks=("<script>\x1b[2J",), sample_of=sample_of)
    assert run(f"show {folder} --pictures {tmp_path / 'a.html'}") == 0
    assert "\x1b" not in capsys.readouterr().out
    assert "<script" not in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_960, "1.0 MB"), (3.21e12, "3.2 TB")],
)
def test_sizes_are_read_at_a_glance(size: float, text: str) -> None:
    assert file_size(size) == text
