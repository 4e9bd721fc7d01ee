"""Whole annotations of Meta-World tasks in a real browser, by keyboard and by mouse."""

from importlib.util import find_spec

import pytest
from browsing import Annotator, boundaries, opened, phases, press, shown, until

from phaser.phases.lerobot_phases import read_phases
from phaser.phases.stage_info import read_stage_info

for package in ("fastapi", "uvicorn"):
    pytest.importorskip(package, reason=f"needs {package}: pip install 'phaser-vla[annotate]'")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def metaworld(tmp_path_factory):
    """Four tasks of Meta-World, a demonstration of each, recorded now."""
    # Not imported here: the suite chooses how to draw before MuJoCo is.
    if find_spec("metaworld") is None:
        pytest.skip("needs metaworld: pip install 'phaser-vla[metaworld]'")
    from phaser.suites.metaworld.recording import MetaWorldRecording, record
    from phaser.suites.metaworld.suite import MetaWorld

    suite = MetaWorld(task_list=("door-unlock", "button-press", "hammer", "pick-place"))
    suite.require()
    once = MetaWorldRecording(num_train=1, num_heldout=1)
    folders = [tmp_path_factory.mktemp("recorded") / task.name for task in suite.tasks()]
    for folder, task in zip(folders, suite.tasks(), strict=True):
        record(folder, task, "train", once)
    return folders


def test_metaworld_tasks_by_keyboard_and_by_mouse_end_in_the_file(context, metaworld, tmp_path):
    out, copy = tmp_path / "s.json", tmp_path / "copy"
    flags = ("--layout", "metaworld", "--lerobot", copy)
    with Annotator(*metaworld, *flags, out=out) as annotator:
        page = opened(context.new_page(), annotator)
        for task in range(3):
            annotate_by_keyboard(page, task)
        annotate_by_mouse(page, 3)
        tasks = page.locator("#tasks button span:first-child").all_inner_texts()
        states = page.locator("#tasks .state").all_inner_texts()
        page.get_by_role("button", name="Write LeRobot subtasks").click()
        until(page, "document.getElementById('saved').textContent.includes('4 of 4')")
    assert states == ["verified 1/1"] * 4
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
    for folder, name in zip(metaworld, tasks, strict=True):
        (expected,) = found[name].episodes
        assert read_phases(copy / folder.name) == {0: expected.segmentation(found[name].names)}


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
    until(page, "document.getElementById('saved').textContent.includes('every')")
