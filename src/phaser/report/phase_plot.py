"""How one task was cut into phases, as a picture: signal, candidates, boundaries, film strip.

A single SVG file without links: frames are PNG inside it. It shows the demonstration that stands
for its task, and below it where every other demonstration was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from phaser.core.demonstration import Demo, Task
from phaser.core.segmentation import Segmentation
from phaser.phases.autopc import AutoPC
from phaser.phases.candidates import Candidate
from phaser.phases.verify import TaskPhases
from phaser.report.phase_film import cards, film_strip
from phaser.report.phase_signal import (
    EVIDENCE,
    LEFT,
    SIGNAL_HEIGHT,
    SIGNAL_TOP,
    WIDTH,
    SignalPanel,
    legend,
    shade,
    x_of,
)
from phaser.report.svg import element, hover, label, polyline, rect, shorten

RIGHT = 24
BAR_HEIGHT, ROW_HEIGHT, MAX_ROWS = 22, 7, 60
EDGES: dict[str, dict[str, Any]] = {
    "": {},
    "event": {"stroke": "#1b1f24", "stroke_width": 1.6},
    "ratio": {"stroke": "#1b1f24", "stroke_width": 1.6, "stroke_dasharray": "1.5 1.5"},
}
"""How the boundary of another demonstration is drawn, by what put it there."""

_STYLE = """
text { font-family: system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1b1f24;
  font-size: 12.5px; }
.title { font-size: 19px; font-weight: 650; } .soft { fill: #5c6570; } .tick { fill: #5c6570;
  font-size: 11px; } .flag { fill: #b2182b; font-weight: 600; } .strong { font-weight: 600; }
.sign { font-size: 11px; stroke: #ffffff; stroke-width: 3px; paint-order: stroke; }
.number { fill: #ffffff; font-size: 11px; }
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PhasePicture:
    """What the picture of one task is drawn from."""

    task: Task
    demos: Sequence[Demo]
    phases: TaskPhases
    auto: AutoPC
    """What found the phases."""
    camera: str | None = None
    """The demonstration's first camera when none is named."""

    @property
    def typical(self) -> Demo:
        return self.demos[self.phases.representative]

    @property
    def cut(self) -> Segmentation:
        return self.phases.segmentations[self.phases.representative]


def phase_picture(picture: PhasePicture) -> str:
    """The whole SVG document."""
    found = picture.auto.candidates(picture.typical)
    panel = SignalPanel(
        score=picture.auto.score(picture.typical),
        candidates=found,
        cut=picture.cut,
        min_score=picture.auto.min_score,
    )
    parts = [_heading(picture), legend(), panel.curve()]
    y = float(SIGNAL_TOP + SIGNAL_HEIGHT + 26)
    parts.append(_phase_bar(picture.cut, y))
    y += BAR_HEIGHT + 6
    strip, height = film_strip(picture.typical, picture.camera, left=LEFT, top=y, width=WIDTH)
    lines_end = y + height
    # Dots and signs come last: a line must not run through them.
    parts += [strip, _boundary_lines(picture.cut, lines_end), panel.markers()]
    y = lines_end + 48
    parts.append(label(LEFT, y - 10, "How each phase begins", class_="strong"))
    captions = _captions(picture.cut, found)
    drawn, height = cards(
        picture.typical, picture.camera, picture.cut, captions, left=LEFT, top=y, width=WIDTH
    )
    parts.append(drawn)
    y += height + 34
    drawn, height = _all_demos(picture.phases, y)
    parts.append(drawn)
    return _document(parts, height=y + height + 30, title=f"Phases of {_plain(picture.task.name)}")


def _document(parts: Sequence[str], *, height: float, title: str) -> str:
    width = LEFT + WIDTH + RIGHT
    head = element("title", escape(title)) + element("style", _STYLE)
    paper = rect(0, 0, width, height, fill="#ffffff")
    return element(
        "svg",
        head + paper + "".join(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height:.0f}",
        width=width,
        height=f"{height:.0f}",
        role="img",
    )


def _heading(picture: PhasePicture) -> str:
    demo, phases = picture.typical, picture.phases
    about = (
        f"demonstration {demo.index}, the most typical of {len(picture.demos)} · "
        f"{demo.num_frames} steps · {len(picture.cut.phases)} phases · {_plain(phases.source)}"
    )
    parts = [
        label(LEFT, 32, shorten(_plain(picture.task.name), 90), class_="title"),
        label(LEFT, 53, shorten(f"“{_plain(picture.task.instruction)}”", 130), class_="soft"),
        label(LEFT, 72, about, class_="soft"),
    ]
    if phases.flag:
        parts.append(label(LEFT, 90, shorten(f"! {_plain(phases.flag)}", 140), class_="flag"))
    return "".join(parts)


def _phase_bar(cut: Segmentation, y: float) -> str:
    parts = []
    for position, one in enumerate(cut.phases):
        start, stop = x_of(one.start, cut.num_frames), x_of(one.stop, cut.num_frames)
        bar = rect(start, y, stop - start, BAR_HEIGHT, fill=shade(position), stroke="#ffffff")
        name = f"{position + 1} {_plain(one.label)}"
        length = max(1, int((stop - start - 6) / 7.2))
        text = shorten(name, length) if length > 3 else str(position + 1)
        middle = label((start + stop) / 2, y + 15.5, text, text_anchor="middle", class_="strong")
        parts.append(hover(bar + middle, f"{_plain(one.label)}: steps {one.start} to {one.stop}"))
    return "".join(parts)


def _boundary_lines(cut: Segmentation, bottom: float) -> str:
    parts = []
    for step in cut.boundaries:
        x = x_of(step, cut.num_frames)
        for ink, width in (("#ffffff", 3.0), ("#b2182b", 1.5)):
            line = [(x, float(SIGNAL_TOP)), (x, bottom)]
            parts.append(polyline(line, stroke=ink, stroke_width=width))
        parts.append(
            label(
                x,
                bottom + 12,
                str(step),
                text_anchor="middle",
                class_="flag",
                style="font-size:11px",
            )
        )
    return "".join(parts)


def _captions(cut: Segmentation, found: Sequence[Candidate]) -> list[tuple[str, ...]]:
    """For each phase its name, its steps and why it begins."""
    at = {one.step: one for one in found}
    lines: list[tuple[str, ...]] = []
    for position, one in enumerate(cut.phases):
        share = f"{100 * len(one) / cut.num_frames:.0f} %"
        why = "the beginning"
        if position:
            tags = at[one.start].evidence if one.start in at else ()
            known = [EVIDENCE[tag][2] for tag in EVIDENCE if tag in tags]
            why = ", ".join(known) or "placed without a candidate"
        name = f"{position + 1} {_plain(one.label)}"
        lines.append((name, f"steps {one.start}–{one.stop - 1} · {share}", why))
    return lines


def _all_demos(phases: TaskPhases, top: float) -> tuple[str, float]:
    """One thin row per demonstration, by share of its length; evenly chosen ones if many."""
    count = len(phases.segmentations)
    rows = range(count) if count <= MAX_ROWS else [k * count // MAX_ROWS for k in range(MAX_ROWS)]
    shown = "All" if count <= MAX_ROWS else f"{MAX_ROWS} of all"
    text = f"{shown} {count} demonstrations, each by share of its own length"
    parts = [label(LEFT, top - 10, text, class_="strong"), _boundary_legend(top - 10)]
    for row, position in enumerate(rows):
        cut, y = phases.segmentations[position], top + row * ROW_HEIGHT
        sources = ("", *phases.boundary_sources[position])
        for order, (one, source) in enumerate(zip(cut.phases, sources, strict=True)):
            start, stop = x_of(one.start, cut.num_frames), x_of(one.stop, cut.num_frames)
            bar = rect(start, y, stop - start, ROW_HEIGHT - 1, fill=shade(order))
            edge = polyline([(start, y), (start, y + ROW_HEIGHT - 1)], **EDGES[source])
            tip = f"demonstration {phases.demos[position]}: {_plain(one.label)} from {one.start}"
            why = f", by {'an' if source == 'event' else 'the'} {source}" if source else ""
            parts.append(hover(bar + (edge if source else ""), tip + why))
    return "".join(parts), len(rows) * ROW_HEIGHT


def _boundary_legend(y: float) -> str:
    """Right-aligned: how a boundary looks by what put it there."""
    end = float(LEFT + WIDTH - 4)
    words = {"ratio": "by the ratio", "event": "at an event"}
    parts = []
    for source, text in words.items():
        parts.append(label(end, y, text, class_="tick", text_anchor="end"))
        end -= 6.0 * len(text) + 8
        parts.append(polyline([(end, y - 10), (end, y + 2)], **EDGES[source]))
        end -= 16
    return "".join(parts)


def _plain(text: str) -> str:
    """Names come from files: what XML cannot hold becomes a space."""
    return "".join(one if one.isprintable() else " " for one in text)
