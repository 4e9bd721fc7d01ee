"""How one task was cut into phases, as a picture: signal, candidates, boundaries, film strip.

A single SVG file without links: frames are PNG inside it. It shows the demonstration that stands
for its task, and below it where every other demonstration was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from phaser.core.demonstration import Demo, Task
from phaser.core.segmentation import Segmentation
from phaser.phases.candidates import (
    GRIPPER_CLOSES,
    GRIPPER_OPENS,
    SLOWS,
    TURNS,
    Candidate,
    candidates,
)
from phaser.phases.signals import SignalRules, signals
from phaser.phases.verify import TaskPhases
from phaser.report.phase_film import cards, film_strip
from phaser.report.svg import element, hover, label, polyline, rect, shorten

LEFT, WIDTH, RIGHT = 60, 960, 24
SIGNAL_TOP, SIGNAL_HEIGHT = 112, 150
BAR_HEIGHT, ROW_HEIGHT, MAX_ROWS = 22, 6, 60
SHADES = ("#56b4e9", "#e69f00", "#2aa876", "#cc79a7", "#e8d93a", "#7f8fd6", "#d9824b")
"""Light enough for dark text; neighbours differ for the colour-blind too (after Okabe and Ito)."""

EVIDENCE = {
    GRIPPER_CLOSES: ("▼", "#b2182b", "gripper closes"),
    GRIPPER_OPENS: ("▲", "#1a7f37", "gripper opens"),
    TURNS: ("◆", "#5b3fa8", "motion turns"),
    SLOWS: ("■", "#6b7280", "hand slows"),
}
_STYLE = """
text { font-family: system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1b1f24;
  font-size: 12.5px; }
.title { font-size: 19px; font-weight: 650; } .soft { fill: #5c6570; } .tick { fill: #5c6570;
  font-size: 11px; } .flag { fill: #b2182b; font-weight: 600; } .strong { font-weight: 600; }
.number { fill: #ffffff; font-size: 11px; }
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PhasePicture:
    """What the picture of one task is drawn from."""

    task: Task
    demos: Sequence[Demo]
    phases: TaskPhases
    rules: SignalRules
    min_score: float
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
    found = candidates(picture.typical, picture.rules)
    parts = [_heading(picture), _legend(), _signal(picture, found)]
    y = float(SIGNAL_TOP + SIGNAL_HEIGHT + 26)
    parts.append(_phase_bar(picture.cut, y))
    y += BAR_HEIGHT + 6
    strip, height = film_strip(picture.typical, picture.camera, left=LEFT, top=y, width=WIDTH)
    lines_end = y + height
    parts += [strip, _boundary_lines(picture.cut, lines_end)]
    y = lines_end + 34
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


def shade(position: int) -> str:
    return SHADES[position % len(SHADES)]


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


def _legend() -> str:
    """Right-aligned above the signal."""
    parts, x = [], float(LEFT + WIDTH - 4)
    entries = [(sign, ink, words) for sign, ink, words in EVIDENCE.values()]
    for sign, ink, words in reversed(entries):
        parts.append(label(x, SIGNAL_TOP - 8, words, class_="tick", text_anchor="end"))
        x -= 6.3 * len(words) + 6
        parts.append(label(x, SIGNAL_TOP - 8, sign, text_anchor="end", style=f"fill:{ink}"))
        x -= 26
    return "".join(parts)


def _signal(picture: PhasePicture, found: Sequence[Candidate]) -> str:
    score = signals(picture.typical, picture.rules).score
    top = max(float(score.max()), picture.min_score) * 1.3
    bottom = SIGNAL_TOP + SIGNAL_HEIGHT
    num_frames = picture.typical.num_frames

    def height(value: float) -> float:
        return bottom - SIGNAL_HEIGHT * value / top

    parts = [
        rect(
            _x(one.start, num_frames),
            SIGNAL_TOP,
            _x(one.stop, num_frames) - _x(one.start, num_frames),
            SIGNAL_HEIGHT,
            fill=shade(position),
            opacity=0.16,
        )
        for position, one in enumerate(picture.cut.phases)
    ]
    threshold = height(picture.min_score)
    line = [(float(LEFT), threshold), (float(LEFT + WIDTH), threshold)]
    parts.append(polyline(line, stroke="#8a929c", stroke_dasharray="4 4"))
    parts.append(
        label(
            LEFT + WIDTH - 4,
            threshold - 4,
            "boundaries lie above this",
            class_="tick",
            text_anchor="end",
        )
    )
    curve = [(_x(t, num_frames), height(float(value))) for t, value in enumerate(score)]
    parts.append(polyline(curve, stroke="#1b1f24", stroke_width=1.4, stroke_linejoin="round"))
    chosen = set(picture.cut.boundaries)
    for one in found:
        x, y = _x(one.step, num_frames), height(one.score)
        parts.append(_marker(one, x, y, chosen=one.step in chosen))
    parts.append(label(LEFT - 8, SIGNAL_TOP + 12, "b(t)", class_="strong", text_anchor="end"))
    parts.append(label(LEFT - 8, bottom, "0", class_="tick", text_anchor="end"))
    for step in _ticks(num_frames):
        x = _x(step, num_frames)
        parts.append(label(x, bottom + 15, str(step), class_="tick", text_anchor="middle"))
    return "".join(parts)


def _marker(one: Candidate, x: float, y: float, *, chosen: bool) -> str:
    """A dot, filled where a phase begins, with one sign per kind of evidence above it."""
    dot = element(
        "circle",
        cx=x,
        cy=y,
        r=4.0,
        fill="#1b1f24" if chosen else "#ffffff",
        stroke="#1b1f24",
        stroke_width=1.4,
    )
    signs = [EVIDENCE[tag] for tag in EVIDENCE if tag in one.evidence]
    above = [
        label(x, y - 8 - 11 * row, sign, text_anchor="middle", style=f"fill:{ink};font-size:10px")
        for row, (sign, ink, _) in enumerate(signs)
    ]
    words = ", ".join(words for _, _, words in signs) or "weak evidence only"
    verdict = "a phase begins" if chosen else "no boundary"
    return hover(dot + "".join(above), f"step {one.step}, b = {one.score:.2f}: {words}; {verdict}")


def _phase_bar(cut: Segmentation, y: float) -> str:
    parts = []
    for position, one in enumerate(cut.phases):
        start, stop = _x(one.start, cut.num_frames), _x(one.stop, cut.num_frames)
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
        x = _x(step, cut.num_frames)
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
    parts = [label(LEFT, top - 10, text, class_="strong")]
    for row, position in enumerate(rows):
        cut, y = phases.segmentations[position], top + row * ROW_HEIGHT
        for order, one in enumerate(cut.phases):
            start, stop = _x(one.start, cut.num_frames), _x(one.stop, cut.num_frames)
            bar = rect(start, y, stop - start, ROW_HEIGHT - 1, fill=shade(order))
            tip = f"demonstration {phases.demos[position]}: {_plain(one.label)} from {one.start}"
            parts.append(hover(bar, tip))
    return "".join(parts), len(rows) * ROW_HEIGHT


def _x(step: int, num_frames: int) -> float:
    return LEFT + WIDTH * step / num_frames


def _ticks(num_frames: int) -> range:
    """Round steps, eight to sixteen of them."""
    width = 1
    while num_frames / width > 16:
        width = width * 5 // 2 if str(width).startswith("2") else width * 2
    return range(0, num_frames, width)


def _plain(text: str) -> str:
    """Names come from files: what XML cannot hold becomes a space."""
    return "".join(one if one.isprintable() else " " for one in text)
