"""`phaser presets`: the named starting points of a run."""

from __future__ import annotations

from collections.abc import Sequence

from phaser.cli.arguments import Parser
from phaser.cli.text_table import listing
from phaser.experiments.presets import PRESETS


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("presets", "The presets that run, grid and record know.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse(arguments)
    print(listing({name: one.summary for name, one in PRESETS.items()}, as_json=chosen.json))
    return 0
