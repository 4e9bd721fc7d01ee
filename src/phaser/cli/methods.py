"""`phaser methods`: the methods by name."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from phaser.cli.arguments import Parser
from phaser.cli.streams import is_utf8
from phaser.methods.table import METHODS


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("methods", "The methods that --method and --methods know.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse(arguments)
    print(listing({name: one.summary for name, one in METHODS.items()}, as_json=chosen.json))
    return 0


def listing(summaries: Mapping[str, str], *, as_json: bool) -> str:
    """Name and one line each."""
    if as_json:
        return json.dumps(dict(summaries), indent=2, ensure_ascii=not is_utf8(sys.stdout))
    width = max(map(len, summaries))
    return "\n".join(f"{name.ljust(width)}  {summary}" for name, summary in summaries.items())
