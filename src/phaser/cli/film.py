"""`phaser film`: the clips of runs as one moving picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from phaser.cli.arguments import Parser, positive
from phaser.cli.output import print_json
from phaser.cli.text_table import file_size
from phaser.core.errors import BadInput
from phaser.core.files import require_writable
from phaser.evaluation.clips import CLIPS

ENDINGS = (".webp", ".mp4")
EPILOG = """\
A row per stage of training, a column per task; a frame turns green where the shown rollout was
solved and red where it was not, and the fraction counts all rollouts of that cell. Where several
rollouts of a cell were filmed (--record 3), the first is shown that ended as most of them did.
  phaser grid metaworld-quick --methods sequential phaser --record
  phaser film runs/metaworld-quick --out retention.webp
  phaser film runs/metaworld-quick --task drawer-open --out drawer.mp4
"""


def execute(arguments: Sequence[str]) -> int:
    parser = _parser()
    chosen = parser.parse(arguments)
    if chosen.out.suffix not in ENDINGS:
        raise BadInput(f"--out {chosen.out}: expected a name that ends with .webp or .mp4")
    from phaser.report.animation import write_film
    from phaser.report.reels import read_reels
    from phaser.report.storyboard import close_up_board, retention_board

    reels = read_reels(_filmed(chosen.runs))
    board = close_up_board(reels, chosen.task) if chosen.task else retention_board(reels)
    require_writable(chosen.out.parent)
    limit = chosen.max_kilobytes
    write_film(board, chosen.out, max_bytes=None if limit is None else 1000 * limit)
    size = chosen.out.stat().st_size
    if chosen.json:
        shape = {"width": board.width, "height": board.height}
        print_json({"film": str(chosen.out), "bytes": size, **shape})
    else:
        where = f"{board.width} x {board.height} pixels, {file_size(size)}"
        print(f"film: {chosen.out.resolve()} ({where})")
    return 0


def _filmed(places: Sequence[Path]) -> list[Path]:
    """Folders with clips, at or below each place."""
    found: list[Path] = []
    for place in places:
        here = sorted(listed.parent for listed in place.rglob(CLIPS))
        if not here:
            raise BadInput(f"{place} holds no clips; run it again with --record and another --out")
        # The method that forgets most comes first, as in a report.
        found += sorted(here, key=lambda folder: not folder.name.startswith("sequential"))
    return list(dict.fromkeys(found))


def _parser() -> Parser:
    parser = Parser(
        "film",
        "Show recorded rollouts of one run, or of several side by side, as one moving picture.",
        epilog=EPILOG,
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="DIR", help="runs, or a grid")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("retention.webp"),
        metavar="FILE",
        help="the film, .webp or .mp4 (default: retention.webp)",
    )
    parser.add_argument(
        "--task", metavar="NAME", help="one task close up, after each stage since it was learnt"
    )
    parser.add_argument(
        "--max-kilobytes",
        type=positive,
        metavar="N",
        help="for .webp: lower the quality until the file is no larger",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser
