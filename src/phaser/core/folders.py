"""Where downloads, recordings and frozen features are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

CACHE_VARIABLE = "PHASER_CACHE"


def cache_folder() -> Path:
    """The folder named by PHASER_CACHE, else the user's cache folder for phaser."""
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("phaser"))
