"""The figure of docs/results.md, from committed rows.

python -m benchmarks.results_figure --out docs/images/results.png

Left: what the same bytes keep. Right: what more frames keep, by how they are chosen. Bars are 95 %
intervals over streams (Student's t).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from phaser.core.files import write_atomically
from phaser.evaluation.comparison import estimate_asr
from phaser.report.arms import Arm
from phaser.report.exhibits.drawing import MARKERS
from phaser.report.palette import looks

RESULTS = Path(__file__).parents[1] / "results"
METHODS = ("er", "er-even", "phaser")
SIZES = (10, 20, 50, 230)
BARS = (
    ("no\nmemory", "sequential", "bytes/sequential"),
    ("er, raw frames,\nno warm-up", "er", "bytes/peers"),
    ("er", "er", "curve/er-b230"),
    ("er-even", "er-even", "curve/er-even-b230"),
    ("phaser", "phaser", "curve/phaser-b230"),
    ("all tasks at once\n(joint)", "joint", "bytes/joint"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images/results.png"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    figure = Figure(figsize=(10, 4), layout="constrained")
    same_bytes, sizes = figure.subplots(1, 2, sharey=True)
    _bars(same_bytes, options.results)
    _curves(sizes, options.results)
    save = lambda file: figure.savefig(  # noqa: E731
        file, format="png", dpi=130, metadata={"Software": None}
    )
    write_atomically(options.out, save)
    print(options.out)


def _measured(folder: Path) -> tuple[float, tuple[float, float]]:
    """Percent, and how far its interval reaches below and above."""
    found = estimate_asr(Arm.read(folder).matrices)
    mean = 100 * found.mean
    return mean, (mean - 100 * found.interval.lower, 100 * found.interval.upper - mean)


def _bars(axis: Any, results: Path) -> None:
    styles = looks(method for _, method, _ in BARS)
    for place, (_, method, folder) in enumerate(BARS):
        mean, (below, above) = _measured(results / folder)
        axis.bar(place, mean, color=styles[method].colour, width=0.7, alpha=0.85)
        axis.errorbar(place, mean, yerr=[[below], [above]], color="black", capsize=3)
        axis.text(place, 2, f"{mean:.0f}", ha="center", va="bottom", color="white", weight="bold")
    axis.set_xticks(range(len(BARS)), [label for label, *_ in BARS], fontsize=8)
    axis.axvspan(1.5, 4.5, color="#00548c", alpha=0.07, zorder=0)
    axis.text(3, 97, "our store, the same bytes", ha="center", va="top", fontsize=8)
    axis.set_ylabel("solved after the last task, %")
    axis.set_ylim(0, 100)
    num_streams = len(Arm.read(results / "bytes/peers").runs)
    axis.set_title(f"1.1 MB per task, {num_streams} streams", fontsize=10)


def _curves(axis: Any, results: Path) -> None:
    styles = looks(METHODS)
    for shift, method in zip((0.96, 1.0, 1.04), METHODS, strict=True):
        points = [_measured(results / f"curve/{method}-b{size}") for size in SIZES]
        axis.errorbar(
            [size * shift for size in SIZES],
            [mean for mean, _ in points],
            yerr=list(zip(*[ends for _, ends in points], strict=True)),
            label=method,
            color=styles[method].colour,
            marker=MARKERS[styles[method].shape],
            capsize=2,
        )
    for label, folder in (("joint", "bytes/joint"), ("no memory", "bytes/sequential")):
        mean, _ = _measured(results / folder)
        axis.axhline(mean, color="#767676", linestyle=":")
        axis.text(10, mean + 1, label, fontsize=8, color="#555555")
    axis.set_xscale("log")
    axis.set_xticks(SIZES, [str(size) for size in SIZES])
    axis.set_xticks([], minor=True)
    axis.set_xlabel("frames kept per task")
    num_streams = len(Arm.read(results / f"curve/phaser-b{SIZES[0]}").runs)
    axis.set_title(f"by how frames are chosen and drawn, {num_streams} streams", fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right", fontsize=8)


if __name__ == "__main__":
    main()
