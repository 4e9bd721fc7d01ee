"""`make bench`: CPU milliseconds of the frozen encoders on one thread, best of many repetitions."""

import time
from collections.abc import Callable

import numpy as np
import torch

from phaser.encoders.efficientnet import EfficientNetLite0
from phaser.encoders.minilm import MiniLM

IMAGE_SIZE = 96


def best_cpu_ms(work: Callable[[], object], *, repetitions: int = 40) -> float:
    """The thread's own CPU time: what other processes do at the same time hardly counts."""
    durations = []
    for _ in range(repetitions):
        begin = time.thread_time_ns()
        work()
        durations.append(time.thread_time_ns() - begin)
    return min(durations) / 1e6


def main() -> None:
    torch.set_num_threads(1)
    vision, language = EfficientNetLite0(), MiniLM()
    for count in (1, 2, 16):
        images = np.random.default_rng(0).integers(0, 256, (count, IMAGE_SIZE, IMAGE_SIZE, 3))
        pixels = images.astype(np.uint8)
        per_frame = best_cpu_ms(lambda pixels=pixels: vision.maps(pixels)) / count
        print(
            f"EfficientNet-lite0, {IMAGE_SIZE} px, batch {count:2}: {per_frame:5.2f} ms per frame"
        )
    per_sentence = best_cpu_ms(lambda: language.encode(["push the button down from the top"]))
    print(f"{'MiniLM':36} {per_sentence:6.2f} ms per sentence")


if __name__ == "__main__":
    main()
