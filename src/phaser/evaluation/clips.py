"""Clips of rollouts: small moving pictures beside a run's results, listed in `clips.json`.

A clip shows what the first camera saw, upright, from the first moment of an episode to its last.
Making clips changes no result: a picture is drawn, nothing is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageSequence, UnidentifiedImageError

from phaser.core.contract import Orientation
from phaser.core.errors import BrokenFile
from phaser.core.files import read_json, require_file, write_atomically, write_json
from phaser.evaluation.messages import Film

CLIPS = "clips.json"
"""Lists the clips of a run folder: an array of objects with the fields of `Clip`."""
FOLDER = "clips"
STEPS_PER_PICTURE = 4
"""Control steps between two pictures: at Meta-World's 80 steps a second, 20 pictures."""
PICTURE_MS = 80
"""How long a picture is shown: Meta-World's clips run at about 6 tenths of their true speed."""
QUALITY = 80
MAX_PICTURES = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Clip:
    """One rollout that was filmed."""

    file: str
    """The clip's place in the run folder."""
    after_task: str
    after_index: int
    task: str
    task_index: int
    env_seed: int
    success: bool
    steps: int


def clip_file(after_index: int, after: str, task_index: int, task: str, env_seed: int) -> str:
    """The place of a clip; numbers make names of tasks with hyphens unmistakable."""
    return f"{FOLDER}/{after_index:02d}-{after}-{task_index:02d}-{task}-{env_seed}.webp"


def upright(film: Film, orientation: Orientation) -> Film:
    """Pictures as a person would see them, from however the policy sees them."""
    turned = {"upright": film, "opengl": film[:, ::-1], "rotated": film[:, :, ::-1]}
    return np.ascontiguousarray(turned[orientation])


def write_clip(path: Path, film: Film, *, picture_ms: int = PICTURE_MS) -> None:
    """Write an animated WebP, which every browser plays."""
    write_animation(path, [Image.fromarray(picture) for picture in film], [picture_ms] * len(film))


def write_animation(
    path: Path, pictures: Sequence[Image.Image], shown_ms: Sequence[int], *, quality: int = QUALITY
) -> None:
    """Write pictures as an animated WebP that repeats without end.

    pictures: all of the same size.
    shown_ms: how long each of them is shown.
    quality: 0 to 100; lower is smaller.
    """
    first, *rest = pictures
    write_atomically(
        path,
        lambda temporary: first.save(
            temporary,
            "WEBP",
            save_all=True,
            append_images=rest,
            duration=list(shown_ms),
            loop=0,
            quality=quality,
            method=4,
        ),
    )


def read_clip(path: Path) -> Film:
    """All pictures of a clip."""
    require_file(path)
    try:
        with Image.open(path, formats=["WEBP"]) as opened:
            if getattr(opened, "n_frames", 1) > MAX_PICTURES:
                raise BrokenFile(f"{path} has more than {MAX_PICTURES} pictures; record it again")
            return np.stack([_pixels(picture) for picture in ImageSequence.Iterator(opened)])
    except (OSError, ValueError, UnidentifiedImageError) as error:
        raise BrokenFile(f"{path} is not a readable clip ({error}); record it again") from error


def write_clips(folder: Path, clips: Iterable[Clip]) -> None:
    """Write the list of a run's clips."""
    write_json(folder / CLIPS, [asdict(clip) for clip in clips])


def read_clips(folder: Path) -> list[Clip]:
    """The clips of a run folder; none where none were recorded."""
    if not (folder / CLIPS).exists():
        return []
    rows = read_json(folder / CLIPS)
    return list(_parsed(rows, folder / CLIPS))


def _parsed(rows: Any, where: Path) -> Iterator[Clip]:
    kinds = {
        field.name: {"str": str, "int": int, "bool": bool}[str(field.type)] for field in _FIELDS
    }
    for row in rows if isinstance(rows, list) else [{}]:
        fits = isinstance(row, dict) and {name: type(value) for name, value in row.items()} == kinds
        # A list from elsewhere must not point at other files of this machine.
        if not fits or Path(row["file"]).parts[:-1] != (FOLDER,):
            raise BrokenFile(f"{where} does not list clips; record the run again with --record")
        yield Clip(**row)


_FIELDS = fields(Clip)


def _pixels(picture: Image.Image) -> UInt8[np.ndarray, "height width 3"]:
    return np.asarray(picture.convert("RGB"))
