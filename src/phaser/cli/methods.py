"""`phaser methods`: the methods by name, in groups, with a recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phaser.cli.arguments import Parser
from phaser.cli.text_table import listing
from phaser.methods.table import METHODS

RECOMMENDATION = """\
Not sure? Take phaser. In a comparison keep er-even (no phases, evenly spread frames) and er
(frames at random, as most others do it) beside it, and sequential and joint as bounds.
"""
GROUPS = {
    "Bounds": ("sequential", "joint"),
    "Replay without phases": ("er", "er-even", "er-balanced", "er-imagined", "loss-aware"),
    "Replay by phases": ("phaser", "phaser-", "phase-", "er-routed", "loss-aware-phases"),
    "The paper to the letter": ("phaser-paper", "er-routed-paper", "zero-budget-paper"),
    "Other people's methods": ("mir", "mir-", "icarl", "der", "agem", "ewc"),
    "Controls": ("zero-budget",),
}
"""Names, or beginnings of names that end with a dash; the longest that fits decides."""
OTHERS = "From other packages"


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("methods", "The methods that --method and --methods know.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse(arguments)
    summaries = {name: one.summary for name, one in METHODS.items()}
    if chosen.json:
        print(listing(summaries, as_json=True))
        return 0
    print(RECOMMENDATION)
    print("\n\n".join(grouped(summaries)))
    return 0


def grouped(summaries: Mapping[str, str]) -> list[str]:
    """One text per group: its heading, and a line per method."""
    found: dict[str, dict[str, str]] = {group: {} for group in (*GROUPS, OTHERS)}
    for name, summary in summaries.items():
        found[group_of(name)][name] = summary
    width = max(map(len, summaries))
    return [
        "\n".join([group, *(f"  {name.ljust(width)}  {one}" for name, one in members.items())])
        for group, members in found.items()
        if members
    ]


def group_of(name: str) -> str:
    """The group that a method is listed in."""
    fitting = [
        (len(start), group)
        for group, starts in GROUPS.items()
        for start in starts
        if name == start or (start.endswith("-") and name.startswith(start))
    ]
    return max(fitting, default=(0, OTHERS))[1]
