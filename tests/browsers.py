"""One real browser for all tests of a worker, a context of its own for each, and axe-core.

Fixtures of the whole test tree: `tests/conftest.py` brings them in once, as one process can hold
one Playwright only.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium; tests that need it are skipped where it, or its driver, is missing."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install 'phaser-vla[dev]'"
    )
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs chromium: sudo apt-get install chromium")
    with driver.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=FLAGS)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield made
        asyncio._set_running_loop(loop)
        made.close()


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    """A browser window without a past, in which no script of a page may fail."""
    # Playwright leaves its loop marked as running, which would forbid asyncio to the tests between.
    asyncio._set_running_loop(browser._loop)
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    failures: list[str] = []
    made.on("weberror", lambda error: failures.append(str(error.error)))
    yield made
    made.close()
    asyncio._set_running_loop(None)
    assert failures == []


def serious_violations(page: Any) -> list[tuple[str, str, str]]:
    """Everything that axe-core calls serious or critical: the rule, the element, the reason."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="needs axe-playwright-python: pip install 'phaser-vla[dev]'",
    )
    return [
        (one["id"], node["html"], node["failureSummary"])
        for one in axe.Axe().run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
