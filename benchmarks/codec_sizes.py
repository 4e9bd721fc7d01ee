"""`python -m benchmarks.codec_sizes --out DIR`: bytes and time of codecs at several image sizes.

Expert episodes of a few Meta-World tasks, drawn at each size by both cameras; every eighth step.
Bytes, peak signal-to-noise ratio, and times as ratios to lossless WebP in the same run.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory_codecs import cost
from benchmarks.publishing import publish
from phaser.experiments.presets import preset
from phaser.suites.metaworld import rendering
from phaser.suites.metaworld.env import MetaWorldEnv
from phaser.suites.metaworld.staged_expert import StagedExpert

CODECS = ("png", "webp-lossless", "jpeg:95", "webp:95", "avif:90", "avif:80")
BASELINE = "webp-lossless"
STEPS, EVERY = 96, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("codec-sizes"), help="two files in here")
    parser.add_argument("--pixels", type=int, nargs="+", default=[96, 256])
    parser.add_argument("--tasks", nargs="+", default=["hammer", "drawer-open", "door-close"])
    chosen = parser.parse_args()
    found = {
        str(size): cost(np.stack(list(drawn(chosen.tasks, size))), CODECS) for size in chosen.pixels
    }
    publish(chosen.out, "codec_sizes", found, markdown(found))


def drawn(names: Sequence[str], size: int) -> Iterator[np.ndarray]:
    """Images of an expert's way, both cameras."""
    rendering.IMAGE_SIZE = size
    tasks = {task.name: task for task in preset("metaworld-10").suite.tasks()}
    for name in names:
        env, expert = MetaWorldEnv(tasks[name]), StagedExpert(name)
        env.place(0)
        for step in range(STEPS):
            if step % EVERY == 0:
                yield from env.observe().images.values()
            env.step(expert.decide(env.full_state)[0])
        env.close()


def markdown(found: dict[str, Any]) -> str:
    lines = [
        "| pixels | codec | bytes per image | against raw | dB | encode × | decode × |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for size, codecs in found.items():
        base = codecs[BASELINE]
        for name, one in codecs.items():
            noise = f"{one['decibels']:.1f}" if "decibels" in one else "–"
            times = [one[key] / base[key] for key in ("encode_us", "decode_us")]
            smaller = one["bytes"] / (3 * int(size) ** 2)
            lines.append(
                f"| {size} | {name} | {one['bytes']:.0f} | {smaller:.3f} | {noise} | "
                + " | ".join(f"{ratio:.1f}" for ratio in times)
                + " |"
            )
    milliseconds = {size: codecs[BASELINE]["decode_us"] / 1000 for size, codecs in found.items()}
    told = ", ".join(f"{one:.2f} ms at {size}" for size, one in milliseconds.items())
    return "\n".join([*lines, "", f"Decoding {BASELINE}: {told}.", ""])


if __name__ == "__main__":
    main()
