"""The page as a browser shows it: on a telephone, a desk and paper, light and dark, by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from written_runs import write_run_folder

from browsers import serious_violations
from phaser.core.files import write_json
from phaser.evaluation.clips import Clip, clip_file, write_clips
from phaser.report.page import write_report

SIZES = {"telephone": (390, 844), "desk": (1280, 800)}
TOO_WIDE = """() => [...document.querySelectorAll("main *")]
  .filter(one => !one.closest("svg *") && !one.closest(".scroll")
    && one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 90))"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of nine tasks and four methods, with a filmed rollout."""
    place = tmp_path_factory.mktemp("page")
    tasks = [f"{what}-{where}" for what in ("open", "press", "turn") for where in "abc"]
    folders = [
        write_run_folder(place / f"{method}-{seed}", method, seed, tasks=tasks)
        for method in ("sequential", "er", "phaser", "joint")
        for seed in (0, 1)
    ]
    filmed = folders[4]
    name = clip_file(1, tasks[1], 0, tasks[0], 5000)
    (filmed / "clips").mkdir()
    Image.new("RGB", (48, 48), "teal").save(filmed / name)
    at = {"after_task": tasks[1], "after_index": 1, "task": tasks[0], "task_index": 0}
    write_clips(filmed, [Clip(file=name, env_seed=5000, success=True, steps=40, **at)])
    moments = {"started": "2026-11-17T08:00:00+00:00", "finished": "2026-11-17T09:00:00+00:00"}
    for folder in folders:
        write_json(folder / "machine.json", {**moments, "machine": "a made-up processor"})
    write_report(folders, place / "report.html")
    return place / "report.html"


def opened(context: Any, page_file: Path, **looks: str) -> Any:
    """The page in a tab that records what it asks for and complains about."""
    page = context.new_page()
    page.asked, page.said = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: page.said.append(message.text))
    page.emulate_media(**looks)
    page.goto(page_file.as_uri())
    return page


@pytest.mark.parametrize(("size", "scheme"), [("telephone", "light"), ("desk", "dark")])
def test_the_page_fits_asks_for_nothing_and_is_accessible(
    context: Any, page_file: Path, size: str, scheme: str
) -> None:
    page = opened(context, page_file, color_scheme=scheme)
    page.set_viewport_size(dict(zip(("width", "height"), SIZES[size], strict=True)))
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    assert page.evaluate(TOO_WIDE) == []
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert serious_violations(page) == []
    assert [one for one in page.asked if not one.startswith(("file:", "data:"))] == []
    assert page.asked[0] == page_file.as_uri()
    assert len([one for one in page.asked if one.startswith("file:")]) == 1
    assert page.said == []
    marks = page.locator(".forest .track:not(.axis) > span:last-child").all()
    assert len(marks) == 4
    for mark in marks:
        box = mark.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= SIZES[size][0]


def test_paper_cuts_no_column_and_no_figure(context: Any, page_file: Path) -> None:
    page = opened(context, page_file, media="print")
    page.set_viewport_size({"width": 703, "height": 1000})
    beyond = """() => [...document.querySelectorAll("table, svg, img, pre, td")]
      .filter(one => one.getBoundingClientRect().right > innerWidth + 1)
      .map(one => one.outerHTML.slice(0, 90))"""
    assert page.evaluate(beyond) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_cells_of_a_matrix_are_read_by_mouse_and_by_keyboard_and_open_their_clip(
    context: Any, page_file: Path
) -> None:
    page = opened(context, page_file)
    figure = page.locator("figure.matrix").nth(2)
    figure.locator("g[data-row='2'][data-column='1'] rect").hover()
    said = figure.locator("output")
    assert said.inner_text().startswith("task 2 (open-b) after learning task 3 (open-c): ")
    assert "95 % interval" in said.inner_text()
    figure.locator(".scroll").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert said.inner_text().startswith("task 1 (open-a) after learning task 2 (open-b): ")
    assert "plays its clip" in said.inner_text()
    address = figure.locator("g[data-row='1'][data-column='0']").get_attribute("data-clip")
    assert (page_file.parent / address).exists()


def test_tables_are_sorted_and_filtered_by_keyboard(context: Any, page_file: Path) -> None:
    page = opened(context, page_file)
    results = page.locator("table").first
    button = results.get_by_role("button", name="ASR %")
    rates = "[...document.querySelector('table').tBodies[0].rows].map(r => +r.cells[1].innerText)"
    button.focus()
    page.keyboard.press("Enter")
    ascending = page.evaluate(rates)
    assert ascending == sorted(ascending)
    page.keyboard.press("Enter")
    assert page.evaluate(rates) == ascending[::-1]
    tasks = page.get_by_role("region", name="Tasks one by one")
    page.get_by_label("Filter rows").first.fill("press-c")
    assert tasks.locator("tbody tr:visible").count() == 1
    assert tasks.locator("img").count() == 1, "the task that was filmed"


def test_the_page_says_when_and_where_and_what_was_side_by_side(page_file: Path) -> None:
    text = page_file.read_text()
    assert "2026-11-17 · 6 min 2 s of processor time · a made-up processor." in text
    assert "experience replay: keeps frames at random, rehearses all alike" in text
    assert "<td>≈ 1.000</td>" not in text, "all ran at the same time on one machine"
