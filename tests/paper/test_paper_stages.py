"""The paper's annotation of LIBERO-Goal against the statistics it reports of it."""

from itertools import pairwise

import numpy as np
import pytest

from phaser.phases.stage_info import RatioPhase, RatioSegmenter

# Inner boundaries of the ten tasks, table "Phase definitions for LIBERO-Goal tasks".
BOUNDARIES = [[0.85], [0.53], [0.56], [0.21, 0.36, 0.69], [0.43], [0.39], [0.59], [0.85], [0.59]]
BOUNDARIES += [[0.61]]


def test_the_annotation_tiles_and_matches_its_reported_statistics():
    shares, disparity = [], []
    for inner in BOUNDARIES:
        edges = [0.0, *inner, 1.0]
        spans = pairwise(edges)
        phases = tuple(
            RatioPhase(name=f"phase_{at}", start_ratio=a, end_ratio=b)
            for at, (a, b) in enumerate(spans)
        )
        RatioSegmenter(phases=phases)
        lengths = np.diff(edges)
        shares += lengths.tolist()
        disparity.append(lengths.max() / lengths.min())
    # The paper: K = 22, mean 0.45, σ 0.20, CV 0.43, max/min ratios of 1.50 (median) and 5.67
    # (worst), and a boost of 3.0. σ and CV come out right with the sample deviation (n - 1).
    mean, deviation = np.mean(shares), np.std(shares, ddof=1)
    assert len(shares) == 22
    assert (round(mean, 2), round(deviation, 2)) == (0.45, 0.20)
    assert round(deviation / mean, 2) == 0.43
    assert max(disparity) == pytest.approx(5.67, abs=0.005)
    assert np.median(disparity) == pytest.approx(1.50, abs=0.005)
    assert round((10 / 22) / min(shares), 1) == 3.0
