"""The segmentation benchmark's numbers as markdown tables."""

from collections.abc import Mapping
from typing import Any

from benchmarks import hand_tables, libero_segmentation, phase_names


def markdown(found: Mapping[str, Any]) -> str:
    return "\n".join(
        [
            *_rules(found["rules"]),
            *_differences(found["differences"]),
            *_styles(found["styles"]),
            *_truths(found["other_truths"]),
            *_carried(found),
            *_whole(found["whole"]),
            *_tasks(found["per_task"]),
            *_speed(found["speed"]),
            *libero_segmentation.markdown(found["libero"]),
            *hand_tables.markdown(found["by_hand"]),
            *(phase_names.markdown(found["names"]) if found["names"] else []),
        ]
    )


def _rules(rows: Any) -> list[str]:
    lines = [
        "| rule | setting | scripted F1 ±5 | ±10 | over | teleoperated F1 ±5 | ±10 | over | ms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        name = f"{row['name']} *" if row["knows_count"] else row["name"]
        cells = [_cells(row["scores"][kind]) for kind in ("scripted", "teleoperated")]
        lines.append(
            f"| {name} | {row['setting']} | {' | '.join(cells)} | {row['ms_per_demo']:.2f} |"
        )
    return [*lines, "", "\\* is told the true number of boundaries.", ""]


def _differences(rows: Any) -> list[str]:
    lines = ["| F1 ±5 of Auto-PC minus that of | scripted | teleoperated |", "|---|---|---|"]
    for row in rows:
        other = f"{row['other']}{' *' if row['other_told'] else ''}"
        ours = "Auto-PC *, minus " if row["ours_told"] else ""
        cells = [
            f"{one['difference']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}]"
            for one in (row["scripted"], row["teleoperated"])
        ]
        lines.append(f"| {ours}{other} | {' | '.join(cells)} |")
    return [*lines, ""]


def _styles(styles: Mapping[str, Any]) -> list[str]:
    lines = ["| Auto-PC stage 1, style | F1 ±5 | ±10 | over |", "|---|---|---|---|"]
    return [*lines, *(f"| {name} | {_cells(one)} |" for name, one in styles.items()), ""]


def _truths(truths: Mapping[str, Any]) -> list[str]:
    lines = [
        "| Auto-PC stage 1, shortest true stage | scripted F1 ±5 | ±10 | over "
        "| teleoperated F1 ±5 | ±10 | over |",
        "|---|---|---|---|---|---|---|",
    ]
    for shortest, scores in truths.items():
        cells = [_cells(scores[kind]) for kind in ("scripted", "teleoperated")]
        lines.append(f"| {shortest} steps | {' | '.join(cells)} |")
    return [*lines, ""]


def _carried(found: Mapping[str, Any]) -> list[str]:
    lines = [
        "| true boundaries carried by | scripted mean error | median | within 5 "
        "| teleoperated mean error | median | within 5 |",
        "|---|---|---|---|---|---|---|",
    ]
    kinds = found["carried"]
    for name in kinds["scripted"]:
        cells = [
            f"{one['mean_error']:.2f} | {one['median_error']:.0f} | {one['within_5']:.0%}"
            for one in (kinds[kind][name] for kind in kinds)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    shares = ", ".join(f"{share:.0%} ({kind})" for kind, share in found["event_share"].items())
    return [*lines, "", f"Carried boundaries that an event placed: {shares}.", ""]


def _whole(whole: Mapping[str, Any]) -> list[str]:
    lines = [
        "| Auto-PC from end to end | scripted F1 ±5 | over | teleoperated F1 ±5 | over |",
        "|---|---|---|---|---|",
    ]
    for name in whole["scripted"]:
        cells = [
            f"{one['f1']:.3f} | {one['over_segmentation']:.2f}"
            for one in (whole[kind][name] for kind in whole)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def _tasks(tasks: Mapping[str, float]) -> list[str]:
    ordered = sorted(tasks.items(), key=lambda one: one[1])
    return ["F1 ±5 by task: " + ", ".join(f"{name} {f1:.2f}" for name, f1 in ordered) + ".", ""]


def _speed(speed: Mapping[str, float]) -> list[str]:
    return [
        f"{speed['episodes']} episodes of {speed['steps']} steps: stage 1 takes "
        f"{speed['stage_one_s']:.1f} CPU-s; alignment {speed['alignment_ms_per_episode']:.2f} ms "
        "per episode.",
        "",
    ]


def _cells(scores: Mapping[str, Any]) -> str:
    five, ten = scores["5"], scores["10"]
    return f"{five['f1']:.3f} | {ten['f1']:.3f} | {five['over_segmentation']:.2f}"
