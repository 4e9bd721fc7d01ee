"""Annotating in a real browser: by keyboard, by mouse, across kills, in two tabs, from outside."""

import http.server
import json
import threading
from contextlib import contextmanager
from functools import partial

import h5py
import numpy as np
import pytest
from browsing import Annotator, boundaries, frame, opened, phases, press, shown, until
from chat_server import Reply, serving
from recorded_files import GRASPS, write_grasps

from browsers import serious_violations
from phaser.phases.stage_info import RatioPhase, TaskStages, read_stage_info, write_stage_info
from phaser.phases.stages import Annotator as Person
from phaser.phases.stages import EpisodeStages

for package in ("fastapi", "uvicorn"):
    pytest.importorskip(package, reason=f"needs {package}: pip install 'phaser-vla[annotate]'")

TASK = "put_the_cup_on_the_shelf"
NAMES = ("playing", "tabs", "beside", "judged", "long", "never")
pytestmark = pytest.mark.slow


def episode_of(path, number=0, task=TASK):
    return next(one for one in read_stage_info(path)[task].episodes if one.episode == number)


def judgement(server):
    """The answer of a model that accepts the first candidate, and rejects all others."""
    text = server.requests[-1]["messages"][1]["content"][0]["text"]
    steps = [int(line.split("t=")[1].split()[0]) for line in text.splitlines() if ": t=" in line]
    frames = int(text.split("The demonstration has ")[1].split()[0])
    actions = ["accept", *("reject" for _ in steps[1:])]
    edge = round(steps[0] / frames, 4)
    return Reply(
        json.dumps(
            {
                "decisions": [
                    {"id": f"C{n}", "action": one, "new_t": None, "reason": f"reason <b>{n}</b>"}
                    for n, one in enumerate(actions, start=1)
                ],
                "vlm_inserted": [{"t": frames - 10, "reason": "the cup touches the shelf"}],
                "phases": [
                    {"name": "approach_cup", "start_ratio": 0, "end_ratio": edge},
                    {"name": "grasp_cup", "start_ratio": edge, "end_ratio": 1 - 10 / frames},
                    {"name": "release_cup", "start_ratio": 1 - 10 / frames, "end_ratio": 1},
                ],
            }
        )
    )


def second_annotation(path):
    """Bob has annotated the first two demonstrations of one task, the grasp 20 frames early."""
    cut = (RatioPhase(name="reach", start_ratio=0.0, end_ratio=0.2),)
    cut += (RatioPhase(name="lift", start_ratio=0.2, end_ratio=1.0),)
    episodes = tuple(
        EpisodeStages(episode=number, num_frames=frames, boundaries=(20,))
        for number, frames in enumerate((100, 106))
    )
    person = Person(who="bob", when="2026-11-18T00:00:00+00:00", seconds=12.0)
    stages = TaskStages(
        instruction="", phases=cut, source="human", episodes=episodes, annotated=person
    )
    write_stage_info(path, {"beside": stages})
    return path


def long_demonstration(path):
    """500 steps, two cameras; the pictures move as a camera's do."""
    write_grasps(path, paces=((200, 100, 200),), name="long", images=False)
    canvas = np.random.default_rng(0).integers(0, 255, (128, 640, 3), dtype=np.uint8)
    pixels = np.stack([canvas[:, at : at + 128] for at in range(500)])
    with h5py.File(path, "r+") as file:
        obs = file["data/demo_0"].create_group("obs")
        for name in ("agentview_rgb", "eye_in_hand_rgb"):
            obs[name] = pixels
    return path


@pytest.fixture(scope="module")
def annotator(tmp_path_factory):
    """One server with all aids, for the tests that leave it alone: each has a task of its own."""
    folder = tmp_path_factory.mktemp("annotated")
    files = [write_grasps(folder / f"{one}.hdf5", name=one) for one in NAMES if one != "long"]
    files.insert(NAMES.index("long"), long_demonstration(folder / "long.hdf5"))
    bob = second_annotation(folder / "bob.json")
    with serving(judgement) as model:
        aids = ["--beside", bob, "--verify", "seer", "--vlm-url", model.url]
        aids += ["--transcripts", folder / "answers", "--max-frames", 8]
        with Annotator(*files, "--layout", "libero", *aids, out=folder / "s.json") as made:
            yield made


def task_page(context, annotator, name):
    """The page with the first demonstration of a task, opened by its name in the list."""
    page = opened(context.new_page(), annotator)
    page.get_by_role("button", name=f"{name} ").first.click()
    shown(page, NAMES.index(name))
    return page


def test_a_wrong_token_opens_nothing(context, annotator):
    page = context.new_page()
    assert page.goto(f"{annotator.origin}/?token=wrong").status == 403
    assert page.goto(f"{annotator.origin}/api/tasks").status == 403
    opened(page, annotator)
    assert "token" not in page.url


def test_kills_lose_at_most_the_last_edit_and_undo_goes_on_after_a_restart(context, tmp_path):
    cups, out = (write_grasps(tmp_path / "cups.hdf5"), "--layout", "libero"), tmp_path / "s.json"
    with Annotator(*cups, out=out) as annotator:
        page = opened(context.new_page(), annotator)
        page.keyboard.press("t")
        shown(page, 0)
        assert boundaries(page)[0] == GRASPS[0]
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
        assert [step for step in boundaries(page) if step <= 8] == saved
        press(page, "z")
        until(page, f"!document.querySelector('[data-step=\"{saved[-1]}\"]')")
    assert [step for step in episode_of(out).boundaries if step <= 8] == saved[:-1]


def test_two_tabs_conflict_visibly_and_lose_nothing(context, annotator):
    first = task_page(context, annotator, "tabs")
    second = task_page(context, annotator, "tabs")
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
    assert {1, 10} <= set(episode_of(annotator.out, task="tabs").boundaries)


@contextmanager
def other_site(folder):
    """A page of another origin on this machine."""
    folder.mkdir()
    (folder / "index.html").write_text("<p>another site</p>")
    handler = partial(QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_page_from_another_origin_cannot_write(context, annotator, tmp_path):
    opened(context.new_page(), annotator)
    page = context.new_page()
    with other_site(tmp_path / "site") as address:
        page.goto(address)
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
            f"{annotator.origin}/api/tasks/{NAMES.index('never')}/proposal",
        )
    assert outcome == ["failed"] * 3
    out = annotator.out
    assert not out.exists() or "never" not in read_stage_info(out)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_labelling_while_it_plays_and_playing_one_phase(context, annotator):
    page = task_page(context, annotator, "playing")
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
    page.keyboard.press("l")
    page.keyboard.press("Home")
    page.keyboard.press("c")
    assert frame(page) == GRASPS[0]
    page.keyboard.press("n")
    offered = page.locator("#names option").evaluate_all("all => all.map((one) => one.value)")
    assert {"approach", "grasp", "pull"} <= set(offered)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()


def test_the_second_annotator_is_beside_and_agreement_follows_every_edit(context, annotator):
    page = task_page(context, annotator, "beside")
    assert page.locator("#other").get_attribute("aria-label") == "Phases by bob"
    assert page.locator("#other li").all_inner_texts() == ["reach", "lift"]
    assert "over 2 demonstrations: boundaries F1 0.00" in page.inner_text("#agreement")
    assert page.locator("#theirs i").count() == 1
    page.keyboard.press("d")
    assert frame(page) == 20
    press(page, "b")
    until(page, "document.querySelector('#theirs').childElementCount === 0")
    before = page.inner_text("#agreement")
    assert "F1 0.00" not in before
    press(page, "o")
    until(page, "document.querySelector('#agreement').textContent.startsWith('no difference')")
    assert (boundaries(page), phases(page)) == ([20], ["reach", "lift"])
    press(page, "v")
    shown(page, NAMES.index("beside"), 1)
    assert episode_of(annotator.out, task="beside").sources == ("human",)


def test_each_decision_of_the_model_is_accepted_or_refused_with_its_reason(context, annotator):
    page = task_page(context, annotator, "judged")
    page.keyboard.press("q")
    page.wait_for_selector("#opinion:not([hidden])")
    reasons = page.locator("#decisions q").all_inner_texts()
    assert "reason <b>1</b>" in reasons
    assert "the cup touches the shelf" in reasons
    press(page, "a")
    until(page, "document.querySelector('#phases button').textContent === 'approach_cup'")
    press(page, "a")
    until(page, "document.querySelectorAll('#phases button')[1].textContent === 'grasp_cup'")
    last = page.locator("#decisions li").last
    last.get_by_role("button", name="Refuse").click()
    until(page, "document.querySelector('#decisions li:last-child').className === 'refused'")
    found = episode_of(annotator.out, task="judged")
    assert (found.boundaries[0], found.sources[0]) == (GRASPS[0], "model")
    assert 90 not in found.boundaries
    press(page, "z")
    until(page, "document.querySelectorAll('#decisions .open').length > 0")
    page.get_by_role("button", name="Accept all").click()
    until(
        page,
        "document.querySelectorAll('#decisions .agreed').length === "
        "document.querySelectorAll('#decisions li').length",
    )
    found = episode_of(annotator.out, task="judged")
    assert (found.boundaries, found.sources) == ((GRASPS[0], 90), ("model", "model"))


def test_every_part_has_a_label_and_axe_finds_nothing_serious(context, annotator):
    page = task_page(context, annotator, "judged")
    page.keyboard.press("q")
    page.wait_for_selector("#opinion:not([hidden])")
    page.keyboard.press("n")
    unlabelled = page.evaluate(
        """[...document.querySelectorAll("button, input, [role=slider], canvas[role]")]
           .filter((one) => !(one.innerText?.trim() || one.getAttribute("aria-label")
                              || one.labels?.length || one.closest("[hidden]")))
           .map((one) => one.outerHTML)"""
    )
    assert unlabelled == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert serious_violations(page) == []
    page.set_viewport_size({"width": 768, "height": 1024})
    assert page.evaluate("document.documentElement.scrollWidth") <= 768


def test_first_paint_and_scrubbing_are_measured_on_a_long_demonstration(context, annotator, capsys):
    page = opened(context.new_page(), annotator)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    page.get_by_role("button", name="long ").click()
    page.wait_for_selector(f"body[data-loaded='{NAMES.index('long')}/0']")
    rate = page.evaluate(
        """() => new Promise((done) => {
          const {player} = window.phaserAnnotate, began = performance.now();
          const first = player.updates; let at = 0;
          const scrub = () => {
            player.seek((at += 7) % 500);
            if (performance.now() - began < 1000) requestAnimationFrame(scrub);
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
    shown_frames = "[...document.querySelectorAll('#cameras canvas')].map((c) => +c.dataset.frame)"
    until(page, f"{shown_frames}.every((one) => one === window.phaserAnnotate.player.frame)")
    assert len(page.evaluate(shown_frames)) == 2
