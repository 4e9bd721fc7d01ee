"""LeRobot's open video decoders stay in the process that opened them.

Beginning a task decodes frames in the training process. LeRobot keeps those decoders in one cache
per process, and a loader's forked workers inherit it: two processes then read from one decoder,
and some samples fail with "Could not push packet to decoder". A forked process therefore begins
with an empty cache.
"""

from __future__ import annotations

import os
import sys

_MODULES = ("lerobot.datasets.video_utils", "lerobot.common.datasets.video_utils")
_CACHE = "_default_decoder_cache"

_inherited: list[object] = []
_registered: list[int] = []


def keep_decoders_in_this_process() -> None:
    """Let every process that is forked from now on begin without LeRobot's open decoders."""
    if not _registered and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_begin_anew)
        _registered.append(os.getpid())


def _begin_anew() -> None:
    for name in _MODULES:
        module = sys.modules.get(name)
        cache = getattr(module, _CACHE, None)
        if cache is not None:
            # Kept referenced: a destructor would wait for decoding threads that are not here.
            _inherited.append(cache)
            setattr(module, _CACHE, type(cache)())
