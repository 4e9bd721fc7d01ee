"""Who may talk to the server, and what it gives out: its page, and frames of opened episodes."""

import io
import json

import pytest
from annotated_sources import made_source
from PIL import Image

pytest.importorskip("fastapi", reason="needs fastapi: pip install 'phaser-vla[annotate]'")
pytest.importorskip("httpx", reason="needs httpx, which only tests ask for")

from fastapi.testclient import TestClient

from phaser.annotate.app import make_app
from phaser.annotate.guard import Guard
from phaser.annotate.service import Service
from phaser.annotate.workspace import open_workspace
from phaser.phases.autopc import AutoPC
from phaser.phases.stage_info import read_stage_info

TOKEN, PORT = "right-token", 8123
HERE = f"http://127.0.0.1:{PORT}"
WRITES = ("edits", "proposal", "undo", "redo")


@pytest.fixture
def stranger(tmp_path):
    """A browser on this machine that has not been given the address."""
    with open_workspace(tmp_path / "s.json", who="ada") as (workspace, _):
        service = Service([made_source("cup"), made_source("<b>pan</b>")], workspace, AutoPC())
        app = Guard(make_app(service), token=TOKEN, port=PORT)
        with TestClient(app, base_url=HERE, follow_redirects=False) as client:
            yield client


@pytest.fixture
def page(stranger):
    """The browser after it has opened the address that was printed."""
    opened = stranger.get(f"/?token={TOKEN}")
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    stranger.headers["origin"] = HERE
    return stranger


def post(client, action, body, **more):
    return client.post(f"/api/tasks/0/{action}", json=body, **more)


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(stranger):
    cookie = stranger.get(f"/?token={TOKEN}").headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in cookie.split(";")}
    assert stranger.get("/").status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/?token=wrong", "/?token=", "/api/tasks", "/media/0/0/0/0", "/app.js", "/none"]
)
def test_without_the_right_token_everything_is_forbidden(stranger, path):
    assert stranger.get(path).status_code == 403
    stranger.cookies.set(f"phaser_annotate_{PORT}", "wrong")
    assert stranger.get(path).status_code == 403


def test_another_name_for_this_machine_is_forbidden(page):
    for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1:80", ""):
        assert page.get("/api/tasks", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"http://localhost:{PORT}", ""])
@pytest.mark.parametrize("action", WRITES)
def test_a_page_of_another_origin_cannot_write(page, tmp_path, origin, action):
    answer = post(page, action, {"version": 0}, headers={"origin": origin})
    assert answer.status_code == 403
    assert not (tmp_path / "s.json").exists()


def test_no_other_origin_is_ever_invited(page):
    answer = page.get("/api/tasks", headers={"origin": "http://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_scripts_come_from_the_page_alone(page):
    policy = page.get("/").headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert '<script type="module" src="app.js"></script>' in page.get("/").text
    assert page.get("/").text.count("<script") == 1


@pytest.mark.parametrize(
    "path",
    [
        "/media/../../etc/passwd",
        "/media/%2e%2e/%2e%2e/etc/passwd",
        "/media/..%2f/0/0/0",
        "/media/0/..%2f..%2f/0/0",
        "/media/0/0/../../0",
        "/media/0/0/0/..%2fapp.py",
        "/api/tasks/..%2f",
        "/api/tasks/0/episodes/..%2f..%2f",
        "/..%2fapp.py",
        "/page/../app.py",
        "/media/0/0/9/0",
        "/media/0/0/0/99",
        "/media/0/9/0/0",
        "/media/9/0/0/0",
        "/api/tasks/9",
        "/api/tasks/0/episodes/77",
        "/docs",
        "/openapi.json",
    ],
)
def test_what_is_not_there_is_not_found_whatever_it_is_called(page, path):
    assert page.get(path).status_code == 404


def test_reading_changes_nothing(page, tmp_path):
    for path in ("/", "/api/tasks", "/api/tasks/0", "/api/tasks/0/episodes/0", "/media/0/0/0/0"):
        assert page.get(path).status_code == 200
    for action in WRITES:
        assert page.get(f"/api/tasks/0/{action}").status_code in (404, 405)
    assert not (tmp_path / "s.json").exists()


def test_frames_come_as_sheets_and_in_ranges(page):
    whole = page.get("/media/0/0/1/0")
    picture = Image.open(io.BytesIO(whole.content))
    assert (whole.headers["content-type"], picture.size) == ("image/jpeg", (5 * 64, 5 * 48))
    part = page.get("/media/0/0/1/0", headers={"range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, whole.content[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{len(whole.content)}"
    assert page.get("/media/0/0/1/0", headers={"range": "bytes=-5"}).content == whole.content[-5:]
    assert page.get("/media/0/0/1/0", headers={"range": "bytes=9999999-"}).status_code == 416


def test_a_task_is_proposed_edited_verified_and_carried_to_the_others(page, tmp_path):
    task = post(page, "proposal", {"version": 0}).json()
    assert [one["state"] for one in task["episodes"]] == ["candidate"] * 3
    first = task["episodes"][0]
    assert first["boundaries"][0] == 40
    edits = [
        {"do": "set", "step": 5, "name": "look"},
        {"do": "move", "step": 5, "to": 9},
        {"do": "nudge", "step": 9, "to": 1},
        {"do": "name", "phase": 0, "name": "wait"},
        {"do": "verify"},
    ]
    for edit in edits:
        task = post(page, "edits", {**edit, "episode": 0, "version": task["version"]}).json()
    names = task["episodes"][0]["names"]
    assert names[:2] == ["wait", "look"]
    assert [one["names"] for one in task["episodes"]] == [names] * 3
    assert [one["state"] for one in task["episodes"]] == ["verified", "candidate", "candidate"]
    saved = read_stage_info(tmp_path / "s.json")["cup"]
    assert saved.source == "human"
    assert saved.episodes[0].boundaries[:2] == (10, 40)
    assert saved.episodes[1].boundaries[1] == 44  # its own grasp, not the ratio
    undone = post(page, "undo", {"version": task["version"]}).json()
    assert [one["state"] for one in undone["episodes"]] == ["candidate"] * 3
    assert undone["redo"].startswith("verify")


def test_an_edit_of_what_another_tab_changed_is_a_conflict(page):
    task = post(page, "proposal", {"version": 0}).json()
    edit = {"do": "set", "step": 5, "episode": 0, "version": task["version"]}
    assert post(page, "edits", edit).status_code == 200
    again = post(page, "edits", {**edit, "step": 7})
    assert again.status_code == 409
    assert 5 in page.get("/api/tasks/0").json()["episodes"][0]["boundaries"]


@pytest.mark.parametrize(
    "body",
    [
        {"do": "set", "step": 0, "episode": 0, "version": 0},
        {"do": "set", "step": "5", "episode": 0, "version": 0},
        {"do": "set", "step": True, "episode": 0, "version": 0},
        {"do": "burn", "episode": 0, "version": 0},
        {"do": "set", "step": 5, "episode": 0},
        {"do": "set", "step": 5, "version": 0},
        {"do": "set", "step": 5, "episode": 0, "version": 0, "path": "../x"},
        {"do": "name", "phase": 0, "name": "x" * 100, "episode": 0, "version": 0},
        [],
    ],
)
def test_a_request_that_makes_no_sense_is_refused_in_one_line(page, body):
    answer = post(page, "edits", body)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert "Traceback" not in json.dumps(answer.json())


def test_names_of_tasks_travel_as_text(page):
    listed = page.get("/api/tasks")
    assert listed.headers["content-type"] == "application/json"
    assert listed.json()["tasks"][1]["name"] == "<b>pan</b>"


def test_only_the_first_verified_demonstration_or_one_on_request_gives_its_phases(page):
    def act(task, do, episode, **more):
        body = {"do": do, "episode": episode, "version": task["version"], **more}
        return post(page, "edits", body).json()

    def counts(task):
        return [len(one["names"]) for one in task["episodes"]]

    task = post(page, "proposal", {"version": 0}).json()
    usual = counts(task)[0]
    task = act(act(task, "set", 0, step=10, name="wait"), "verify", 0)
    assert counts(task) == [usual + 1] * 3
    task = act(act(task, "set", 1, step=20, name="slip"), "verify", 1)
    assert counts(task) == [usual + 1, usual + 2, usual + 1]
    task = act(task, "give", 1)
    assert counts(task) == [usual + 1, usual + 2, usual + 2]
    assert task["undo"] == "give the phases to the others in demonstration 1"
