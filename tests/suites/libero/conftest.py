"""Tests with the real LIBERO; where it or its assets are not there, they say what is missing.

Tests of fetching need neither: they have a hub of their own on loopback, and made-up files.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from hub_server import Hub, serving
from made_files import assets_of, demonstrations_of

from phaser.core.errors import MissingDependency
from phaser.core.folders import CACHE_VARIABLE
from phaser.suites.libero import downloads
from phaser.suites.libero.assets import VARIABLE, assets_folder
from phaser.suites.libero.listing import ASSETS, DEMONSTRATIONS
from phaser.suites.libero.runtime import require_packages


@pytest.fixture
def needs_libero() -> None:
    """LIBERO and the assets of LIBERO-Goal."""
    _require("libero-goal")


@pytest.fixture
def needs_libero_long() -> None:
    """LIBERO and the assets of LIBERO-Long."""
    _require("libero-10")


def _require(suite: str) -> None:
    try:
        require_packages()
        assets_folder(suite)
    except MissingDependency as error:
        pytest.skip(f"needs LIBERO and its assets: {error}")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no folder that the user has named: the part of it that is LIBERO's."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path / "cache" / "libero"


@pytest.fixture
def hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with the assets of two suites and the demonstrations of one."""
    library = pytest.importorskip("huggingface_hub", reason="needs the extra libero-fetch")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr(downloads, "WAITS_S", (0.0, 0.0))
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.lower(), raising=False)
    monkeypatch.setenv("HF_TOKEN_PATH", str(cache / "no-token"))
    repositories = {
        ASSETS.name: {
            **assets_of("libero-goal", "libero-object"),
            ".gitattributes": b"*.msh filter=lfs",
            "turbosquid_objects/of_no_suite_here/of_no_suite_here.xml": b"<mujoco/>",
        },
        DEMONSTRATIONS.name: demonstrations_of("libero-goal"),
    }
    library.close_session()
    with serving(repositories) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
        library.close_session()
