"""Normalisation statistics of a stream: aggregated, chosen, and refused where they blow up."""

import json
from pathlib import Path

import numpy as np
import pytest

from phaser.core.errors import BadInput
from phaser.demos.lerobot_statistics import of_vectors
from phaser.integrations.lerobot.progress import Progress
from phaser.integrations.lerobot.statistics import (
    OfFeatures,
    aggregated,
    in_force,
    read_statistics,
    refuse_blow_up,
)

MODES = {"action": "MEAN_STD"}
CHANCE = np.random.default_rng(0)
STILL = np.column_stack([CHANCE.normal(size=50), np.full(50, 60.0)])
MOVING = np.column_stack([CHANCE.normal(3, 2, size=70), CHANCE.uniform(0, 60, size=70)])


def of(rows: np.ndarray) -> OfFeatures:
    return {"action": of_vectors(rows)}


def test_statistics_of_all_so_far_are_those_of_all_frames_together() -> None:
    found = in_force("all-so-far", [of(STILL)], of(MOVING))["action"]
    together = of_vectors(np.vstack([STILL, MOVING]))
    for name in ("min", "max", "mean", "std", "count"):
        assert np.allclose(found[name], together[name]), name


def test_the_first_datasets_statistics_are_refused_where_a_still_number_begins_to_move() -> None:
    first = in_force("first", [of(STILL)], of(MOVING))
    assert np.array_equal(first["action"]["std"], of(STILL)["action"]["std"])
    with pytest.raises(BadInput, match=r"number 1 of 'action' hardly varies .*\(std 0\).* in b"):
        refuse_blow_up(first, of(MOVING), MODES, dataset="b")
    refuse_blow_up(first, of(STILL), MODES, dataset="a")
    refuse_blow_up(aggregated([of(STILL), of(MOVING)]), of(MOVING), MODES, dataset="b")
    refuse_blow_up(first, of(MOVING), {"action": "IDENTITY"}, dataset="b")


@pytest.mark.parametrize("mode", ["MIN_MAX", "QUANTILES", "QUANTILE10"])
def test_ranges_of_no_width_are_refused_as_well(mode: str) -> None:
    with pytest.raises(BadInput, match=r"--replay\.statistics all-so-far"):
        refuse_blow_up(of(STILL), of(MOVING), {"action": mode}, dataset="b")


def test_a_file_gives_statistics_and_must_have_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "stats.json"
    path.write_text(json.dumps({"action": {"mean": [1.0, 2.0], "std": [3.0, 4.0]}}))
    found = in_force(str(path), [of(STILL)], of(MOVING))
    assert found["action"]["std"].tolist() == [3.0, 4.0]
    with pytest.raises(BadInput, match="has no statistics of state"):
        in_force(str(path), [], of(MOVING) | {"state": of_vectors(MOVING)})
    path.write_text("[1]")
    with pytest.raises(BadInput, match=r"meta/stats\.json"):
        read_statistics(path)


def test_datasets_of_other_sizes_are_refused_and_missing_quantiles_are_left_out() -> None:
    with pytest.raises(BadInput, match="one policy cannot learn them in a row"):
        aggregated([of(STILL), of(MOVING[:, :1])])
    old = {"action": {name: STILL.mean(0) for name in ("min", "max", "mean", "std")}}
    old["action"]["count"] = np.array([50])
    assert "q01" not in aggregated([old, of(MOVING)])["action"]


def test_statistics_are_kept_with_the_memory(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.write_statistics("a", of(STILL), of(MOVING))
    (back,) = progress.statistics(["a"])
    assert np.array_equal(back["action"]["std"], of(STILL)["action"]["std"])
    saved = json.loads((progress.folder / "statistics.json").read_text())
    assert saved["action"]["mean"] == of(MOVING)["action"]["mean"].tolist()
