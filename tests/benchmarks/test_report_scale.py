"""A report of many runs takes little time and memory, and its page stays small."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.report_scale import measured, write_runs
from phaser.core.streams import Streams
from phaser.evaluation.intervals import flipped_sums, sign_flips


def test_many_cells_make_a_small_page_in_little_time(tmp_path: Path) -> None:
    write_runs(tmp_path / "runs", num_cells=8, num_episodes=4_000, num_tasks=32)
    seconds, size = measured(tmp_path / "runs", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert size < 1_000_000
    assert seconds < 20
    assert page.count('src="data:image/png;base64,') == 4, "matrices of 32 tasks are pictures"


def test_flips_in_parts_are_the_flips_of_all_at_once() -> None:
    differences = np.random.default_rng(0).normal(size=30)
    stream = Streams(0).named("flips")
    sums, leanings = flipped_sums(differences, stream)
    signs = sign_flips(30, stream)
    np.testing.assert_allclose(sums, signs @ differences)
    np.testing.assert_array_equal(leanings, signs.sum(axis=1))
