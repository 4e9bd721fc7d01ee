"""Where downloads, recordings and frozen features are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "PHASER_CACHE"


def cache_folder() -> Path:
    """The folder named by PHASER_CACHE, else the user's cache folder for phaser."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("phaser"))
