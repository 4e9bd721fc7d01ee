"""Annotating in a real browser: by keyboard, by mouse, across kills, in two tabs, from outside."""

import http.server
import threading
from functools import partial
from importlib.util import find_spec

import h5py
import numpy as np
import pytest
from browsing import Annotator, boundaries, frame, opened, phases, press, shown, until
from recorded_files import GRASPS, write_grasps

from browsers import serious_violations
from phaser.phases.stage_info import read_stage_info

for package in ("fastapi", "uvicorn"):
    pytest.importorskip(package, reason=f"needs {package}: pip install 'phaser-vla[annotate]'")

TASK = "put_the_cup_on_the_shelf"
pytestmark = pytest.mark.slow


@pytest.fixture
def cups(tmp_path):
    return write_grasps(tmp_path / "cups.hdf5"), "--layout", "libero"


def episode_of(path, number=0, task=TASK):
    return next(one for one in read_stage_info(path)[task].episodes if one.episode == number)


def test_a_wrong_token_opens_nothing(context, cups, tmp_path):
    with Annotator(*cups, out=tmp_path / "s.json") as annotator:
        page = context.new_page()
        assert page.goto(f"{annotator.origin}/?token=wrong").status == 403
        assert page.goto(f"{annotator.origin}/api/tasks").status == 403
        opened(page, annotator)
        assert "token" not in page.url


def test_undo_goes_on_after_the_server_was_killed(context, cups, tmp_path):
    out = tmp_path / "s.json"
    with Annotator(*cups, out=out) as annotator:
        page = opened(context.new_page(), annotator)
        page.keyboard.press("t")
        shown(page, 0)
        assert boundaries(page)[0] == GRASPS[0]
        page.keyboard.press("Shift+ArrowRight")
        press(page, "b")
        until(page, "document.querySelectorAll('#boundaries [role=slider]').length > 1")
        assert 10 in boundaries(page)
        annotator.kill()
    assert 10 in episode_of(out).boundaries
    with Annotator(*cups, out=out) as annotator:
        page = opened(context.new_page(), annotator)
        page.keyboard.press("t")
        shown(page, 0)
        assert 10 in boundaries(page)
        press(page, "z")
        until(page, "!document.querySelector('[data-step=\"10\"]')")
    assert 10 not in episode_of(out).boundaries


def test_a_kill_in_the_middle_of_fast_edits_loses_at_most_the_last_one(context, cups, tmp_path):
    out = tmp_path / "s.json"
    with Annotator(*cups, out=out) as annotator:
        page = opened(context.new_page(), annotator)
        page.keyboard.press("t")
        shown(page, 0)
        for _ in range(8):
            page.keyboard.press("ArrowRight")
            page.keyboard.press("b")
        until(page, "document.querySelector('[data-step=\"4\"]')")
        seen = [step for step in boundaries(page) if step <= 8]
        annotator.kill()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("b")
        page.wait_for_selector("#banner:not([hidden])")
        assert "does not answer" in page.inner_text("#banner")
    saved = [step for step in episode_of(out).boundaries if step <= 8]
    assert set(seen) <= set(saved)
    with Annotator(*cups, out=out) as annotator:
        page = opened(context.new_page(), annotator)
        page.keyboard.press("t")
        shown(page, 0)
        assert set(seen) <= set(boundaries(page))


def test_two_tabs_conflict_visibly_and_lose_nothing(context, cups, tmp_path):
    out = tmp_path / "s.json"
    with Annotator(*cups, out=out) as annotator:
        first = opened(context.new_page(), annotator)
        first.keyboard.press("t")
        shown(first, 0)
        second = opened(context.new_page(), annotator)
        second.keyboard.press("t")
        shown(second, 0)
        first.keyboard.press("Shift+ArrowRight")
        press(first, "b")
        first.wait_for_selector("[data-step='10']", state="attached")
        second.keyboard.press("ArrowRight")
        second.keyboard.press("b")
        second.wait_for_selector("#banner:not([hidden])")
        assert "changed elsewhere" in second.inner_text("#banner")
        assert 10 in boundaries(second)
        assert 1 not in boundaries(second)
        second.get_by_role("button", name="Do it anyway").click()
        second.wait_for_selector("[data-step='1']", state="attached")
    assert {1, 10} <= set(episode_of(out).boundaries)


def test_a_page_from_another_origin_cannot_write(context, cups, tmp_path):
    out, site = tmp_path / "s.json", tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<p>another site</p>")
    handler = partial(QuietHandler, directory=str(site))
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        with Annotator(*cups, out=out) as annotator:
            opened(context.new_page(), annotator)
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{other.server_port}/")
            outcome = page.evaluate(
                """async (target) => {
                  const body = JSON.stringify({version: 0});
                  const tries = [
                    {method: "POST", credentials: "include", body,
                     headers: {"content-type": "application/json"}},
                    {method: "POST", credentials: "include", mode: "no-cors", body},
                    {method: "GET", credentials: "include"},
                  ];
                  const found = [];
                  for (const one of tries) {
                    try { const r = await fetch(target, one); found.push(r.type + r.status); }
                    catch (error) { found.push("failed"); }
                  }
                  return found;
                }""",
                f"{annotator.origin}/api/tasks/0/proposal",
            )
            assert outcome == ["failed"] * 3
            assert not out.exists()
    finally:
        other.shutdown()
        other.server_close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_labelling_while_it_plays_and_playing_one_phase(context, cups, tmp_path):
    out = tmp_path / "s.json"
    with Annotator(*cups, out=out) as annotator:
        page = opened(context.new_page(), annotator)
        page.keyboard.press("t")
        shown(page, 0)
        page.keyboard.press("m")
        page.keyboard.press(" ")
        until(page, "window.phaserAnnotate.player.frame >= 4")
        press(page, "b")
        page.keyboard.press(" ")
        assert page.evaluate("window.phaserAnnotate.player.playing") is False
        until(page, "document.querySelectorAll('#boundaries [role=slider]').length > 1")
        page.keyboard.press("End")
        page.keyboard.press("m")
        page.keyboard.press("l")
        page.wait_for_timeout(300)
        assert page.locator("#loop").get_attribute("aria-pressed") == "true"
        assert frame(page) >= boundaries(page)[-1]
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()


def test_every_part_has_a_label(context, cups, tmp_path):
    with Annotator(*cups, out=tmp_path / "s.json") as annotator:
        page = opened(context.new_page(), annotator)
        page.keyboard.press("t")
        shown(page, 0)
        page.keyboard.press("n")
        unlabelled = page.evaluate(
            """[...document.querySelectorAll("button, input, [role=slider], canvas[role]")]
               .filter((one) => !(one.innerText?.trim() || one.getAttribute("aria-label")
                                  || one.labels?.length)).map((one) => one.outerHTML)"""
        )
        assert unlabelled == []


def test_axe_finds_nothing_serious(context, cups, tmp_path):
    with Annotator(*cups, out=tmp_path / "s.json") as annotator:
        page = opened(context.new_page(), annotator)
        page.keyboard.press("t")
        shown(page, 0)
        page.keyboard.press("n")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert serious_violations(page) == []


def test_first_paint_and_scrubbing_are_measured_on_a_long_demonstration(context, tmp_path, capsys):
    path = write_grasps(tmp_path / "long.hdf5", paces=((200, 100, 200),), images=False)
    rng = np.random.default_rng(0)
    with h5py.File(path, "r+") as file:
        obs = file["data/demo_0"].create_group("obs")
        for name in ("agentview_rgb", "eye_in_hand_rgb"):
            obs[name] = rng.integers(0, 255, (500, 128, 128, 3), dtype=np.uint8)
    with Annotator(path, "--layout", "libero", out=tmp_path / "s.json") as annotator:
        page = opened(context.new_page(), annotator)
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        page.keyboard.press("t")
        shown(page, 0)
        page.wait_for_selector("body[data-loaded='0/0']")
        rate = page.evaluate(
            """() => new Promise((done) => {
              const {player} = window.phaserAnnotate, began = performance.now();
              const first = player.updates; let at = 0;
              const scrub = () => {
                player.seek((at += 7) % 500);
                if (performance.now() - began < 2000) requestAnimationFrame(scrub);
                else done((player.updates - first) / 2 / ((performance.now() - began) / 1000));
              };
              scrub();
            })"""
        )
    with capsys.disabled():
        print(
            f"\nannotate: first paint {paint:.0f} ms, scrubbing {rate:.0f} updates/s, two cameras"
        )
    assert rate > 0


@pytest.fixture(scope="module")
def metaworld(tmp_path_factory):
    """Four tasks of Meta-World, two demonstrations each, recorded now."""
    # Not imported here: the suite chooses how to draw before MuJoCo is.
    if find_spec("metaworld") is None:
        pytest.skip("needs metaworld: pip install 'phaser-vla[metaworld]'")
    from phaser.suites.metaworld.recording import MetaWorldRecording
    from phaser.suites.metaworld.suite import MetaWorld

    suite = MetaWorld(
        task_list=("drawer-open", "button-press", "hammer", "door-open"),
        cache=tmp_path_factory.mktemp("cache"),
        recording=MetaWorldRecording(num_train=2, num_heldout=1),
    )
    suite.require()
    folders = []
    for task in suite.tasks():
        suite.ensure_recorded(task)
        folders.append(suite.recorded(task, "train"))
    return folders


def test_metaworld_tasks_by_keyboard_and_by_mouse_end_in_the_file(context, metaworld, tmp_path):
    out = tmp_path / "s.json"
    with Annotator(*metaworld, "--layout", "metaworld", out=out) as annotator:
        page = opened(context.new_page(), annotator)
        for task in range(3):
            annotate_by_keyboard(page, task)
        annotate_by_mouse(page, 3)
        tasks = page.locator("#tasks button span:first-child").all_inner_texts()
        states = page.locator("#tasks .state").all_inner_texts()
    assert states == ["verified 2/2"] * 4
    found = read_stage_info(out)
    assert sorted(found) == sorted(tasks)
    for name in tasks[:3]:
        one = found[name]
        assert (one.source, one.annotated.who) == ("human", "ada")
        assert one.annotated.seconds > 0
        for episode in one.episodes:
            assert episode.state == "verified"
            assert (episode.phases or one.names)[:2] == ("wait", "look")
        assert one.episodes[0].boundaries[0] == 4
        assert one.episodes[0].sources[0] == "human"
    by_mouse = found[tasks[3]]
    assert "drag it" in by_mouse.names
    assert "human" in by_mouse.episodes[0].sources
    assert {one.state for one in by_mouse.episodes} == {"verified"}


def annotate_by_keyboard(page, task):
    page.keyboard.press("t")
    shown(page, task)
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    press(page, "b")
    page.wait_for_selector("[data-step='5']", state="attached")
    page.keyboard.press("n")
    page.keyboard.type("look")
    page.keyboard.press("Enter")
    press(page, ",")
    page.wait_for_selector("[data-step='4']", state="attached")
    page.keyboard.press("Home")
    page.keyboard.press("n")
    page.keyboard.type("wait")
    press(page, "Enter")
    until(page, "document.querySelector('#phases button').textContent === 'wait'")
    assert phases(page)[:2] == ["wait", "look"]
    page.keyboard.press("v")
    shown(page, task, 1)
    assert phases(page)[:2] == ["wait", "look"]
    page.keyboard.press("v")
    until(page, "document.getElementById('saved').textContent.includes('every')")


def annotate_by_mouse(page, task):
    page.locator("#tasks button").nth(task).click()
    page.wait_for_selector(f"body[data-loaded='{task}/0']")
    before = boundaries(page)
    box = page.locator("#boundaries [role=slider]").first.bounding_box()
    page.mouse.move(box["x"] + 7, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] - 60, box["y"] + 40, steps=4)
    page.mouse.up()
    until(page, f"!document.querySelector('[data-step=\"{before[0]}\"]')")
    assert boundaries(page)[0] < before[0]
    page.locator("#phases button").nth(1).click()
    page.fill("#name", "drag it")
    page.get_by_role("button", name="Use").click()
    page.wait_for_selector("#phases button[title='drag it']")
    page.locator("#verify").click()
    shown(page, task, 1)
    page.locator("#verify").click()
    until(page, "document.getElementById('saved').textContent.includes('every')")
