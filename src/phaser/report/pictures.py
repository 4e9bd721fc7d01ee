"""A small picture of each task: from a filmed rollout, else from a frame that a memory holds."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

from phaser.core.errors import PhaserError
from phaser.evaluation.clips import read_clip, upright
from phaser.memory.store import Store
from phaser.report.runs import RunResult

SIDE = 96
MOST_PICTURES = 40
"""Pictures of a page, so that it stays small."""


def pictures(runs: Sequence[RunResult], tasks: Sequence[str]) -> dict[str, str]:
    """Addresses of pictures by task, as part of the page; tasks without any are left out."""
    wanted = list(tasks[:MOST_PICTURES])
    found: dict[str, str] = {}
    for run in sorted(runs, key=lambda run: not run.clips):
        missing = [task for task in wanted if task not in found]
        if not missing:
            break
        found |= _filmed(run, missing) if run.clips else _stored(run, missing)
    return found


def _filmed(run: RunResult, tasks: Sequence[str]) -> dict[str, str]:
    found = {}
    for clip in run.clips:
        if clip.task in tasks and clip.task not in found:
            try:
                found[clip.task] = _address(read_clip(run.folder / clip.file)[0])
            except PhaserError:
                continue
    return found


def _stored(run: RunResult, tasks: Sequence[str]) -> dict[str, str]:
    """Frames of the memory; a damaged memory costs a picture, not the report."""
    if not (run.folder / "memory").is_dir():
        return {}
    found = {}
    try:
        store = Store.open(run.folder / "memory")
        held = {task.name for task in store.tasks}
        for task in (task for task in tasks if task in held):
            first = store.shard(task).buckets()[0].frames[0]
            image = next(_images(store.read([first])[0]), None)
            if image is not None:
                found[task] = _address(upright(image[None], _orientation(run))[0])
    except PhaserError:
        return found
    return found


def _images(sample: Any) -> Iterator[np.ndarray]:
    """Every picture of a sample, whatever it is nested in."""
    if isinstance(sample, Mapping):
        for value in sample.values():
            yield from _images(value)
    elif isinstance(sample, np.ndarray) and sample.dtype == np.uint8 and sample.ndim == 3:
        if sample.shape[2] == 3:
            yield sample
        elif sample.shape[0] == 3:
            yield np.ascontiguousarray(sample.transpose(1, 2, 0))


def _orientation(run: RunResult) -> Any:
    """How the policy sees the world, by the run's settings; upright where they do not say."""
    suite = run.settings.get("suite")
    protocol = suite.get("protocol") if isinstance(suite, Mapping) else None
    told = protocol.get("orientation") if isinstance(protocol, Mapping) else None
    return told if told in ("upright", "opengl", "rotated") else "upright"


def _address(pixels: np.ndarray) -> str:
    picture = Image.fromarray(pixels)
    picture.thumbnail((SIDE, SIDE))
    stream = io.BytesIO()
    picture.save(stream, "WEBP", quality=70)
    return f"data:image/webp;base64,{base64.b64encode(stream.getvalue()).decode()}"
