"""CPU milliseconds of the frozen encoders on one thread."""

import numpy as np
import torch

from benchmarks.timing import best_cpu_ms, print_ratios
from phaser.encoders.efficientnet import EfficientNetLite0
from phaser.encoders.minilm import MiniLM

IMAGE_SIZE = 96


def main() -> None:
    torch.set_num_threads(1)
    vision, language = EfficientNetLite0(), MiniLM()
    rng = np.random.default_rng(0)
    batches = {
        count: rng.integers(0, 256, (count, IMAGE_SIZE, IMAGE_SIZE, 3)).astype(np.uint8)
        for count in (1, 2, 16)
    }
    times = best_cpu_ms(
        {f"batch {count}": lambda b=batch: vision.maps(b) for count, batch in batches.items()}
    )
    per_frame = {f"batch {count}": times[f"batch {count}"] / count for count in batches}
    print_ratios("EfficientNet-lite0, per frame of 96 px", per_frame, baseline="batch 1")
    sentence = best_cpu_ms({"one sentence": lambda: language.encode(["push the button down"])})
    print_ratios("MiniLM", sentence, baseline="one sentence")
