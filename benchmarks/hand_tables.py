"""The numbers of demonstrations by hand as markdown tables."""

from collections.abc import Mapping
from typing import Any


def markdown(found: Mapping[str, Any]) -> list[str]:
    return [
        *_rules(found["rules"]),
        *_suites(found["rules"]),
        *_styles(found["styles"]),
        *_whole(found["whole"]),
    ]


def _rules(rows: Any) -> list[str]:
    lines = [
        "| by hand, one demonstration at a time | setting | F1 ±5 | 95 % | ±10 | 95 % | over "
        "| gripper events found | Auto-PC ahead by (±5) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        five, ten = row["all"]["5"], row["all"]["10"]
        behind = "–" if row is rows[0] else _range(row["behind"], sign=True)
        lines.append(
            f"| {_name(row)} | {row['setting']} | {five['f1']:.3f} "
            f"| {_range(row['interval']['5'])} | {ten['f1']:.3f} | {_range(row['interval']['10'])} "
            f"| {five['over_segmentation']:.2f} | {row['all']['gripper']:.3f} | {behind} |"
        )
    return [*lines, "", "\\* is told the true number of boundaries.", ""]


def _suites(rows: Any) -> list[str]:
    suites = list(rows[0]["suites"])
    heads = " | ".join(f"{suite} F1 ±5 | ±10 | gripper" for suite in suites)
    lines = [f"| by hand, by suite | {heads} |", "|---|" + "---|" * (3 * len(suites))]
    for row in rows:
        cells = [
            f"{one['5']['f1']:.3f} | {one['10']['f1']:.3f} | {one['gripper']:.3f}"
            for one in (row["suites"][suite] for suite in suites)
        ]
        lines.append(f"| {_name(row)} | {' | '.join(cells)} |")
    return [*lines, ""]


def _styles(styles: Mapping[str, Any]) -> list[str]:
    names = list(next(iter(styles.values())))
    heads = " | ".join(f"{name} F1 ±5 | ±10" for name in names)
    lines = [f"| style | {heads} |", "|---|" + "---|" * (2 * len(names))]
    for style, scores in styles.items():
        cells = [f"{one['5']['f1']:.3f} | {one['10']['f1']:.3f}" for one in scores.values()]
        lines.append(f"| {style} | {' | '.join(cells)} |")
    return [*lines, ""]


def _whole(sizes: Mapping[str, Any]) -> list[str]:
    lines = [
        "| from end to end, by hand | phases | F1 ±5 | ±10 | gripper events found "
        "| where it is used as in the reference |",
        "|---|---|---|---|---|---|",
    ]
    for size, settings in sizes.items():
        for name, one in settings.items():
            lines.append(
                f"| {size} demonstrations | {name} | {one['5']['f1']:.3f} | {one['10']['f1']:.3f} "
                f"| {one['gripper']:.3f} | {one['gripper_as_reference']:.3f} "
                f"({one['share_as_reference']:.0%} of them) |"
            )
    return [*lines, ""]


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['name']} *" if row["knows_count"] else str(row["name"])


def _range(bounds: Any, *, sign: bool = False) -> str:
    low, high = bounds
    form = "+.3f" if sign else ".3f"
    return f"[{low:{form}}, {high:{form}}]"
