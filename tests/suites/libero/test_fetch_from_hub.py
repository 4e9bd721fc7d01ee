"""`phaser libero fetch` from a hub: every byte is checked, and a broken fetch goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fetching import GOAL, PLATE, Said, fetch, of_suites, refusal
from hub_server import COMMIT, Hub
from made_files import MESH, read

from phaser.cli import main
from phaser.core.locks import exclusive
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.listing import ASSETS, DEMONSTRATIONS
from phaser.suites.libero.published import demonstrations_folder


def test_assets_are_fetched_whole_and_found(hub: Hub, cache: Path, capsys: Said) -> None:
    assert fetch("--suites", "libero-goal", "libero-object") == 0
    assert read(cache / "assets") == of_suites(hub)
    assert assets_folder("libero-goal") == (cache / "assets").resolve()
    assert [path.name for path in cache.iterdir()] == ["assets"]
    first, *_, last = capsys.readouterr().out.splitlines()
    count, size = len(of_suites(hub)), sum(map(len, of_suites(hub).values())) / 1000
    assert f"{count} files, {size:.1f} kB in {ASSETS.name} at {COMMIT[:12]}; to fetch: " in first
    assert last == f"assets of libero-goal, libero-object: {cache / 'assets'}"


def test_the_pinned_commit_is_asked_for_and_files_come_from_what_it_is(hub: Hub) -> None:
    assert fetch(*GOAL) == 0
    assert hub.asked[0][1] == f"/api/datasets/{ASSETS.name}/revision/{ASSETS.revision}"
    resolved = [path for _, path, _ in hub.asked if "/resolve/" in path]
    assert all(f"/resolve/{COMMIT}/" in path for path in resolved)
    assert fetch(*GOAL, "--assets-revision", "a/branch") == 0
    assert hub.asked[-1][1].endswith("/revision/a/branch")


def test_demonstrations_are_fetched_where_the_suite_finds_them(hub: Hub, cache: Path) -> None:
    assert fetch(*GOAL, "--demonstrations", "--no-assets") == 0
    folder = demonstrations_folder("libero-goal")
    assert folder == cache / "demonstrations" / "libero-goal"
    published = hub.repositories[DEMONSTRATIONS.name]
    assert {f"libero_goal/{name}": content for name, content in read(folder).items()} == published
    assert not (cache / "assets").exists()


def test_a_dry_run_says_what_would_come_and_writes_nothing(
    hub: Hub, cache: Path, capsys: Said
) -> None:
    assert fetch(*GOAL, "--demonstrations", "--dry-run", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assets, demonstrations = said["batches"]
    assert said["dry_run"] is True
    assert (assets["what"], assets["revision"]) == ("assets", COMMIT)
    published = hub.repositories[DEMONSTRATIONS.name]
    assert demonstrations["num_files"] == demonstrations["missing_files"] == len(published) == 10
    assert demonstrations["missing_bytes"] == sum(map(len, published.values()))
    assert not cache.exists()


def test_a_second_call_asks_for_no_file_and_a_changed_file_is_mended(
    hub: Hub, cache: Path, capsys: Said
) -> None:
    assert fetch(*GOAL) == 0
    hub.asked.clear()
    capsys.readouterr()
    assert fetch(*GOAL) == 0
    assert hub.files_asked() == []
    assert "all of them are here" in capsys.readouterr().out
    plate = cache / "assets" / PLATE
    whole = plate.read_bytes()
    plate.write_bytes(whole[:-1] + b"!")
    assert fetch(*GOAL) == 0
    assert hub.files_asked() == [(PLATE, 0)]
    assert plate.read_bytes() == whole


def test_a_connection_that_breaks_again_and_again_is_taken_up_where_it_broke(
    hub: Hub, cache: Path
) -> None:
    hub.cut_at, hub.cut_times = 300, 6
    assert fetch(*GOAL) == 0
    assert {start for _, start in hub.files_asked()} == {300 * cut for cut in range(7)}
    assert (cache / "assets" / PLATE).read_bytes() == MESH + PLATE.encode()


def test_an_interrupted_fetch_goes_on_with_the_next_call(
    hub: Hub, cache: Path, capsys: Said
) -> None:
    hub.cut_at, hub.cut_times = 700, 10**9
    hub.ranges = False  # Every attempt begins anew, so none gets further than 700 bytes.
    said = refusal(capsys, *GOAL)
    assert "cannot reach" in said
    assert "--from FOLDER" in said
    begun, *_ = hub.files_asked()[-1:]
    assert not (cache / "assets" / begun[0]).exists()
    (part,) = (cache / "assets" / ".partial").iterdir()
    assert part.stat().st_size == 700
    finished = set(read(cache / "assets")) - {f".partial/{part.name}"}
    hub.cut_at, hub.ranges = None, True
    hub.asked.clear()
    assert fetch(*GOAL) == 0
    assert hub.files_asked()[0] == (begun[0], 700)
    assert not finished & {path for path, _ in hub.files_asked()}
    assert read(cache / "assets").items() <= of_suites(hub).items()
    assert (cache / "assets" / begun[0]).read_bytes() == of_suites(hub)[begun[0]]
    assert not (cache / "assets" / ".partial").exists()


def test_a_killed_fetch_leaves_no_half_file_and_goes_on(hub: Hub, cache: Path) -> None:
    name = next(iter(hub.repositories[DEMONSTRATIONS.name]))
    content = b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 8192
    hub.repositories[DEMONSTRATIONS.name][name] = content
    hub.drip_s = 0.1
    words = ("libero", "fetch", *GOAL, "--demonstrations", "--no-assets")
    source = str(Path(__file__).parents[3] / "src")
    process = subprocess.Popen(
        [sys.executable, "-m", "phaser.cli", *words],
        env={**os.environ, "PYTHONPATH": source},
        stdout=subprocess.DEVNULL,
    )
    partial = cache / "demonstrations" / ".partial"
    give_up = time.monotonic() + 60
    while not any(part.stat().st_size > 10**6 for part in partial.glob("*.part")):
        assert process.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (cache / "demonstrations" / "libero-goal").exists()
    hub.drip_s = 0.0
    hub.asked.clear()
    assert main.execute(words) == 0
    path, start = hub.files_asked()[0]
    assert path == name
    assert start > 10**6
    assert (demonstrations_folder("libero-goal") / Path(name).name).read_bytes() == content


def test_one_call_at_a_time_which_removes_what_killed_ones_left(
    hub: Hub, cache: Path, capsys: Said
) -> None:
    left = cache / "assets" / "scenes" / ".vis.msh.0.tmp"
    left.parent.mkdir(parents=True)
    left.touch()
    with exclusive(cache / ".fetch.lock", what="a test"):
        assert f"{cache} is in use by process" in refusal(capsys, *GOAL)
    assert left.exists()
    assert fetch(*GOAL) == 0
    assert not left.exists()


def test_what_an_earlier_call_left_damaged_is_fetched_anew(hub: Hub, cache: Path) -> None:
    hub.cut_at, hub.ranges = 700, False
    assert fetch(*GOAL) == 2
    (part,) = (cache / "assets" / ".partial").iterdir()
    part.write_bytes(b"?" * 700)
    hub.cut_at, hub.ranges = None, True
    hub.asked.clear()
    assert fetch(*GOAL) == 0
    path = hub.files_asked()[0][0]
    assert hub.files_asked()[:2] == [(path, 700), (path, 0)]
    assert (cache / "assets" / path).read_bytes() == of_suites(hub)[path]


def test_no_token_goes_to_the_host_that_stores_large_files(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "made-up-word")
    assert fetch(*GOAL) == 0
    sent = {host.split(":")[0]: "authorization" in headers for host, _, headers in hub.asked}
    assert sent == {"127.0.0.1": True, "localhost": False}


def test_a_process_of_its_own_tells_no_third_party_and_writes_nothing_at_home(
    hub: Hub, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    source = str(Path(__file__).parents[3] / "src")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    done = subprocess.run(
        [sys.executable, "-m", "phaser.cli", "libero", "fetch", *GOAL],
        env={**kept, "PYTHONPATH": source, "HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert not list(home.iterdir())
    assert {path.split("/")[1] for _, path, _ in hub.asked} == {"api", "datasets", "stored"}
    assert not [path for _, path, _ in hub.asked if "agent" in path]
