"""A hub that lies, breaks off, refuses or is not there: one line, nothing false in the cache."""

import socket
import sys
import time
from pathlib import Path

import pytest
from fetching import GOAL, PLATE, Said, fetch, of_suites, refusal
from hub_server import COMMIT, Hub

from phaser.core import files
from phaser.suites.libero import hub as asking


@pytest.mark.parametrize("path", [PLATE, "textures/light-gray-plaster.png"])
def test_a_wrong_content_is_refused_and_nothing_is_left_in_its_place(
    path: str, hub: Hub, cache: Path, capsys: Said
) -> None:
    right = of_suites(hub)[path]
    hub.sent_instead[path] = right[:-1] + b"!"
    said = refusal(capsys, *GOAL)
    kind = "SHA-256" if path == PLATE else "git SHA-1"
    assert f"sent {path} with {kind}" in said
    assert not (cache / "assets" / path).exists()
    assert not any((cache / "assets" / ".partial").iterdir())
    hub.sent_instead.clear()
    assert fetch(*GOAL) == 0
    assert (cache / "assets" / path).read_bytes() == right


def test_more_bytes_than_declared_are_refused(hub: Hub, cache: Path, capsys: Said) -> None:
    hub.sent_instead[PLATE] = of_suites(hub)[PLATE] + b"more"
    assert "than the 2036 bytes that it declared" in refusal(capsys, *GOAL)
    assert not (cache / "assets" / PLATE).exists()
    assert not any((cache / "assets" / ".partial").iterdir())


@pytest.mark.parametrize(
    "path",
    ["../plate.xml", "/etc/passwd", "scenes/../../plate.xml", "scenes//a", "scenes/a\x1b[2J", ""],
)
def test_a_listing_that_leads_out_of_its_folder_is_refused(
    path: str, hub: Hub, cache: Path, capsys: Said
) -> None:
    hub.listed_as[PLATE] = path
    said = refusal(capsys, *GOAL)
    assert "leads out of its folder" in said
    assert said.isprintable() or said[:-1].isprintable()
    assert not cache.exists()
    assert hub.files_asked() == []


@pytest.mark.parametrize(
    "listing",
    [
        b"<html>log in to this network first</html>",
        b"[]",
        b"{}",
        b'{"id": "a", "sha": "main", "siblings": []}',
        b'{"id": "a", "sha": "%s", "siblings": [{"rfilename": "scenes/a"}]}' % COMMIT.encode(),
    ],
)
def test_an_answer_that_is_no_listing_is_one_line(
    listing: bytes, hub: Hub, cache: Path, capsys: Said
) -> None:
    hub.listing = listing
    assert "sent no listing" in refusal(capsys, *GOAL)
    assert not cache.exists()


def test_one_path_twice_or_a_file_as_a_folder_is_refused(hub: Hub, capsys: Said) -> None:
    for name in ("scenes/libero_tabletop_base_style.xml", f"{PLATE}/more"):
        hub.listed_as = {"textures/light-gray-plaster.png": name}
        assert "sent no listing" in refusal(capsys, *GOAL)


def test_a_repository_that_lacks_a_suite_is_refused_before_the_first_file(
    hub: Hub, cache: Path, capsys: Said
) -> None:
    assert "has no stable_hope_objects/cookies/" in refusal(capsys, "--suites", "libero-spatial")
    words = ("--suites", "libero-object", "--demonstrations")
    assert "has no libero_object/pick_up_the_alphabet_soup" in refusal(capsys, *words)
    assert not cache.exists()


def test_an_unknown_revision_and_a_hub_that_refuses_are_one_line(hub: Hub, capsys: Said) -> None:
    said = refusal(capsys, *GOAL, "--assets-revision", "gone")
    assert "has no revision 'gone' of lerobot/libero-assets" in said
    hub.refusals = [403]
    assert "refuses lerobot/libero-assets (answer 403)" in refusal(capsys, *GOAL)


def test_a_hub_that_is_busy_is_asked_again(hub: Hub) -> None:
    hub.refusals = [503, 429]
    assert fetch(*GOAL) == 0


def test_without_a_network_one_line_comes_at_once_and_names_from(
    hub: Hub, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    began = time.monotonic()
    said = refusal(capsys, *GOAL)
    assert "cannot reach http://127.0.0.1:9 (" in said
    assert "--from FOLDER" in said
    assert time.monotonic() - began < 5


def test_a_hub_that_never_answers_is_given_up(
    hub: Hub, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "TIMEOUT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert "cannot reach" in refusal(capsys, *GOAL)


def test_a_proxy_that_cannot_be_used_is_one_line(
    hub: Hub, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "carrier-pigeon://127.0.0.1:9")
    said = refusal(capsys, *GOAL)
    assert "the proxy of this machine cannot be used (" in said
    assert "--from FOLDER" in said


def test_offline_mode_and_a_missing_library_are_one_line(
    hub: Hub, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE forbids" in refusal(capsys, *GOAL)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    said = refusal(capsys, *GOAL)
    assert "huggingface_hub is not installed; run: pip install 'phaser-vla[libero-fetch]'" in said
    assert "--from FOLDER" in said


@pytest.mark.parametrize("stage", ["made", "written", "synced"])
def test_a_full_disk_is_one_line_and_the_next_call_goes_on(
    stage: str, hub: Hub, cache: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(at: str, path: Path) -> None:
        if at == stage and path.name == "plate.xml":
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(files, "reached", full)
        assert "No space left on device" in refusal(capsys, *GOAL)
    assert not (cache / "assets" / "stable_scanned_objects" / "plate" / "plate.xml").exists()
    assert not list(cache.rglob("*.tmp"))
    assert fetch(*GOAL) == 0


def test_a_disk_that_is_too_small_is_refused_before_the_first_byte(
    hub: Hub, cache: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 100

    monkeypatch.setattr("shutil.disk_usage", lambda place: Usage)
    assert "0.0 GB free" in refusal(capsys, *GOAL)
    assert not cache.exists()


def test_a_link_in_the_cache_that_leads_elsewhere_is_not_written_through(
    hub: Hub, cache: Path, tmp_path: Path, capsys: Said
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (cache / "assets").mkdir(parents=True)
    (cache / "assets" / "scenes").symlink_to(tmp_path / "elsewhere")
    assert "is a link that leads out of" in refusal(capsys, *GOAL)
    assert not list((tmp_path / "elsewhere").iterdir())
