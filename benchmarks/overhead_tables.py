"""Tables of the overhead benchmark in markdown, and whether the targets are met."""

from collections.abc import Mapping, Sequence
from typing import Any

OURS = "phaser"
MOST_STEP, MOST_TRANSITION = 1.01, 0.01
NOTICE = "estimate, nothing was run at this size"


def policy_table(found: Mapping[str, Any]) -> str:
    """One row per method."""
    headings = (
        "method",
        "step",
        "× er (95 % interval)",
        "of it measuring",
        "transition",
        "of a task",
        "extra peak",
        "memory stored",
        "left for penalty",
    )
    noise = _interval(found["noise"])
    lead = (
        f"### {found['policy']}\n\n{found['trained_weights']:,} trained weights, batches of "
        f"{found['batch_size']}, {found['steps_per_task']} steps per task; er against itself: "
        f"{noise}.\n"
    )
    return "\n".join([lead, _table(headings, [_cells(row) for row in found["rows"]]), ""])


def targets(found: Mapping[str, Any]) -> str:
    """PHASER's two limits, for every policy it was measured with."""
    lines = [f"Finding a task's phases and prototypes takes {found['phases_ms']:.0f} ms once.", ""]
    for policy in found["policies"]:
        for row in policy["rows"]:
            if row["method"] == OURS:
                lines.append(
                    f"- {policy['policy']}: {OURS}'s step {_interval(row['step_ratio'])} × er "
                    f"({_met(row['step_ratio']['median'], MOST_STEP)} {MOST_STEP}), transition "
                    f"{_percent(row['transition_share'])} of a task's training "
                    f"({_met(row['transition_share'], MOST_TRANSITION)} 1 %), with finding its "
                    f"phases {_percent(_with_phases(row, policy, found))}"
                )
    return "\n".join([*lines, ""])


def estimate_tables(found: Mapping[str, Any]) -> str:
    """One table per backbone."""
    headings = (
        "method",
        "FLOPs per step, × er",
        "transition, of a task's FLOPs",
        "left for penalty",
        "extra peak: copies of weights",
    )
    parts = [f"## At real size: {NOTICE}", ""]
    for one in found["backbones"]:
        parts += [
            f"### {one['backbone']} ({NOTICE})",
            "",
            f"{one['weights'] / 1e9:.2f} billion weights, {one['trained_weights'] / 1e6:.0f} "
            f"million trained; batches of {found['batch_size']}, {found['steps_per_task']:,} steps "
            f"per task; a step of er takes {one['step_flops'] / 1e12:.1f} TFLOP.",
            "",
            _table(headings, [_estimated(row) for row in one["rows"]]),
            "",
        ]
    return "\n".join(parts)


def size(number: float) -> str:
    """Bytes with at most four digits."""
    if abs(number) < 0.5:
        return "0"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(number) >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number:.0f} B"


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    taken = row["transition_ms"]
    return (
        row["method"],
        f"{row['step_ms']:.2f} ms",
        _interval(row["step_ratio"]),
        f"{row['measuring_ms']:.2f} ms" if row["measuring_ms"] else "–",
        f"{taken:.1f} ms" if taken else "–",
        _percent(row["transition_share"]) if taken else "–",
        size(row["peak_bytes"]),
        size(row["memory_bytes"]),
        size(row["penalty_bytes"]),
    )


def _estimated(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["method"],
        f"{row['step_ratio']:.3f}",
        _percent(row["transition_share"]),
        size(row["kept_bytes"]),
        size(row["peak_bytes"]),
    )


def _with_phases(
    row: Mapping[str, Any], policy: Mapping[str, Any], found: Mapping[str, Any]
) -> float:
    task_ms = policy["steps_per_task"] * row["step_ms"]
    return float(row["transition_share"] + found["phases_ms"] / task_ms)


def _interval(ratio: Mapping[str, float]) -> str:
    return f"{ratio['median']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f})"


def _percent(share: float) -> str:
    return "0" if not share else f"{100 * share:.2g} %"


def _met(value: float, most: float) -> str:
    return "within" if value <= most else "above"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (headings, *rows)]
    return "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]])
