"""The boundary score of one demonstration over time, with its candidates and their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from phaser.core.segmentation import Segmentation
from phaser.phases.candidates import GRIPPER_CLOSES, GRIPPER_OPENS, SLOWS, TURNS, Candidate
from phaser.report.svg import element, hover, label, polyline, rect

LEFT, WIDTH = 60, 960
SIGNAL_TOP, SIGNAL_HEIGHT = 112, 150
SHADES = ("#56b4e9", "#e69f00", "#2aa876", "#cc79a7", "#e8d93a", "#7f8fd6", "#d9824b")
"""Light enough for dark text; neighbours differ for the colour-blind too (after Okabe and Ito)."""

EVIDENCE = {
    GRIPPER_CLOSES: ("▼", "#b2182b", "gripper closes"),
    GRIPPER_OPENS: ("▲", "#1a7f37", "gripper opens"),
    TURNS: ("◆", "#5b3fa8", "motion turns"),
    SLOWS: ("■", "#6b7280", "hand slows"),
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SignalPanel:
    """b(t), what stands out in it, and the phases behind it."""

    score: Float[np.ndarray, "frames"]
    candidates: Sequence[Candidate]
    cut: Segmentation
    min_score: float

    def curve(self) -> str:
        """Phases as bands, the score as a line, the threshold and the axis."""
        num_frames, bottom = self.cut.num_frames, SIGNAL_TOP + SIGNAL_HEIGHT
        parts = []
        for position, one in enumerate(self.cut.phases):
            start, stop = x_of(one.start, num_frames), x_of(one.stop, num_frames)
            look = {"fill": shade(position), "opacity": 0.16}
            parts.append(rect(start, SIGNAL_TOP, stop - start, SIGNAL_HEIGHT, **look))
        parts.append(self._threshold())
        points = [
            (x_of(t, num_frames), self._y(float(value))) for t, value in enumerate(self.score)
        ]
        parts.append(polyline(points, stroke="#1b1f24", stroke_width=1.4, stroke_linejoin="round"))
        parts.append(label(LEFT - 8, SIGNAL_TOP + 12, "b(t)", class_="strong", text_anchor="end"))
        parts.append(label(LEFT - 8, bottom, "0", class_="tick", text_anchor="end"))
        for step in _ticks(num_frames):
            x = x_of(step, num_frames)
            parts.append(label(x, bottom + 15, str(step), class_="tick", text_anchor="middle"))
        return "".join(parts)

    def markers(self) -> str:
        """Every candidate; the filled ones begin a phase."""
        chosen = set(self.cut.boundaries)
        return "".join(
            _marker(
                one,
                x_of(one.step, self.cut.num_frames),
                self._y(one.score),
                chosen=one.step in chosen,
            )
            for one in self.candidates
        )

    def _threshold(self) -> str:
        y, end = self._y(self.min_score), float(LEFT + WIDTH)
        line = polyline([(float(LEFT), y), (end, y)], stroke="#8a929c", stroke_dasharray="4 4")
        number = label(LEFT - 8, y + 4, f"{self.min_score:.2f}", class_="tick", text_anchor="end")
        words = "- - -  the signal alone makes no boundary below this"
        return line + number + label(LEFT, SIGNAL_TOP - 8, words, class_="tick")

    def _y(self, value: float) -> float:
        # With room above the highest candidate for its signs.
        top = 1.35 * max(float(self.score.max()), self.min_score)
        return SIGNAL_TOP + SIGNAL_HEIGHT * (1 - value / top)


def legend() -> str:
    """Right-aligned above the signal."""
    parts, x = [], float(LEFT + WIDTH - 4)
    entries = [(sign, ink, words) for sign, ink, words in EVIDENCE.values()]
    for sign, ink, words in reversed(entries):
        parts.append(label(x, SIGNAL_TOP - 8, words, class_="tick", text_anchor="end"))
        x -= 6.3 * len(words) + 6
        parts.append(label(x, SIGNAL_TOP - 8, sign, text_anchor="end", style=f"fill:{ink}"))
        x -= 26
    return "".join(parts)


def shade(position: int) -> str:
    return SHADES[position % len(SHADES)]


def x_of(step: int, num_frames: int) -> float:
    return LEFT + WIDTH * step / num_frames


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
        label(x, y - 8 - 12 * row, sign, text_anchor="middle", class_="sign", style=f"fill:{ink}")
        for row, (sign, ink, _) in enumerate(signs)
    ]
    words = ", ".join(words for _, _, words in signs) or "weak evidence only"
    verdict = "a phase begins" if chosen else "no boundary"
    return hover(dot + "".join(above), f"step {one.step}, b = {one.score:.2f}: {words}; {verdict}")


def _ticks(num_frames: int) -> range:
    """Round steps, eight to sixteen of them."""
    width = 1
    while num_frames / width > 16:
        width = width * 5 // 2 if str(width).startswith("2") else width * 2
    return range(0, num_frames, width)
