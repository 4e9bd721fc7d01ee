"""Storyboards: where each clip of an animation stands, and in which turn it is played.

Two are known: the retention matrix, revealed row by row, and one task close up, after each stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phaser.core.errors import BadInput, UnknownName
from phaser.evaluation.messages import Film
from phaser.report.reels import Reel
from phaser.report.svg import shorten

SIDE, CLOSE_SIDE, GAP = 96, 168, 8
MARGIN, LABELS, BETWEEN = 16, 116, 26
TITLE, SUM, BODY, SMALL = 19, 17, 14, 13
LIGHT, SOFT = "#f2f4f7", "#aab2bd"
LETTER = 0.56
"""Width of a letter as a share of its size, on average."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Tile:
    """One clip, its place in pixels, and the turn in which it is played."""

    left: int
    top: int
    side: int
    film: Film
    success: bool
    tally: str
    """How many rollouts of its kind were solved."""
    turn: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """A line of text; it shows from its turn on, or from the end of that turn."""

    left: int
    top: int
    text: str
    size: int = BODY
    colour: str = LIGHT
    turn: int = 0
    at_end: bool = False
    until: int | None = None
    """The last turn in which it shows; none: it stays."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Storyboard:
    """Everything that an animation shows."""

    width: int
    height: int
    tiles: Sequence[Tile]
    words: Sequence[Words]

    @property
    def num_turns(self) -> int:
        return 1 + max(tile.turn for tile in self.tiles)


def retention_board(reels: Sequence[Reel]) -> Storyboard:
    """Lower-triangular matrices side by side: a row per stage, a column per task."""
    tasks = reels[0].tasks
    panel = len(tasks) * (SIDE + GAP) - GAP
    top = MARGIN + 62
    words = [
        line
        for row, task in enumerate(tasks)
        for line in (
            Words(
                left=MARGIN, top=top + row * (SIDE + GAP) + 30, text="after", colour=SOFT, turn=row
            ),
            Words(
                left=MARGIN,
                top=top + row * (SIDE + GAP) + 48,
                text=_fitted(task, LABELS - 6, BODY),
                turn=row,
            ),
        )
    ]
    tiles = []
    for number, reel in enumerate(reels):
        left = MARGIN + LABELS + number * (panel + BETWEEN)
        tiles += _rows(reel, left, top)
        words += _panel_words(reel, left, top, panel)
    return _board(reels, tiles, words)


def close_up_board(reels: Sequence[Reel], task: str) -> Storyboard:
    """One task, larger: a row per run, and a clip for every stage since the task was learnt."""
    tasks = reels[0].tasks
    if task not in tasks:
        raise UnknownName("task", task, tasks)
    index = tasks.index(task)
    top, tiles, words = MARGIN + 62, [], []
    words.append(Words(left=MARGIN, top=MARGIN, text=task, size=TITLE))
    for column, stage in enumerate(tasks[index:]):
        said = "just learnt" if column == 0 else f"after {stage}"
        left = MARGIN + LABELS + column * (CLOSE_SIDE + GAP)
        fitted = _fitted(said, CLOSE_SIDE, BODY)
        words.append(Words(left=left, top=top - 24, text=fitted, colour=SOFT))
    for row, reel in enumerate(reels):
        height = top + row * (CLOSE_SIDE + GAP)
        words.append(
            Words(left=MARGIN, top=height + 66, text=_fitted(reel.method, LABELS - 6, BODY))
        )
        for column in range(len(tasks) - index):
            shot = reel.shots.get((index + column, index))
            if shot is not None:
                tiles.append(
                    Tile(
                        left=MARGIN + LABELS + column * (CLOSE_SIDE + GAP),
                        top=height,
                        side=CLOSE_SIDE,
                        film=shot.film,
                        success=shot.success,
                        tally=f"{shot.solved}/{shot.tried}",
                        turn=0,
                    )
                )
    return _board(reels, tiles, words)


def _rows(reel: Reel, left: int, top: int) -> list[Tile]:
    return [
        Tile(
            left=left + column * (SIDE + GAP),
            top=top + row * (SIDE + GAP),
            side=SIDE,
            film=shot.film,
            success=shot.success,
            tally=f"{shot.solved}/{shot.tried}",
            turn=row,
        )
        for (row, column), shot in sorted(reel.shots.items())
    ]


def _panel_words(reel: Reel, left: int, top: int, width: int) -> list[Words]:
    """Title, names of the tasks, and below what was solved after each stage."""
    title = Words(left=left, top=MARGIN - 2, text=_fitted(_title(reel), width, TITLE), size=TITLE)
    names = [
        Words(
            left=left + column * (SIDE + GAP),
            top=top - 22,
            text=_fitted(task, SIDE + GAP - 4, SMALL),
            size=SMALL,
            colour=SOFT,
        )
        for column, task in enumerate(reel.tasks)
    ]
    last = len(reel.tasks) - 1
    sums = []
    for row in range(len(reel.tasks)):
        shots = [shot for (after, _), shot in reel.shots.items() if after == row]
        solved, tried = sum(one.solved for one in shots), sum(one.tried for one in shots)
        if tried:
            sums.append(
                Words(
                    left=left,
                    top=top + len(reel.tasks) * (SIDE + GAP) + 4,
                    text=f"{solved} of {tried} rollouts solved",
                    size=SUM,
                    turn=row,
                    at_end=True,
                    until=None if row == last else row,
                )
            )
    return [title, *names, *sums]


def _title(reel: Reel) -> str:
    return f"{reel.method}: {reel.keeps}"


def _board(reels: Sequence[Reel], tiles: Sequence[Tile], words: Sequence[Words]) -> Storyboard:
    if not tiles:
        raise BadInput(f"{reels[0].folder} has no clip of that task; film another")
    right = max(tile.left + tile.side for tile in tiles)
    bottom = max(tile.top + tile.side for tile in tiles)
    return Storyboard(
        # Both even: most players of mp4 ask for that.
        width=-(-(right + MARGIN) // 2) * 2,
        height=-(-(bottom + MARGIN + 30) // 2) * 2,
        tiles=tiles,
        words=words,
    )


def _fitted(text: str, width: int, size: int) -> str:
    return shorten(text, max(4, int(width / (LETTER * size))))
