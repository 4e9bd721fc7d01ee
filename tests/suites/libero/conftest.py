"""Tests with the real LIBERO; where it or its assets are not there, they say what is missing."""

import pytest

from phaser.core.errors import MissingDependency
from phaser.suites.libero.assets import assets_folder
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
        pytest.skip(str(error))
