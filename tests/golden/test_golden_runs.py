"""Short runs give what was frozen before: the same bits, where the machine rounds alike.

Frozen are weights, batches, losses, episodes and kept frames of one short run per file, started by
its command. `arithmetic.json` tells how the machine that froze them rounds. Another one cannot give
the same hashes; there, what does not depend on rounding must still be the same, and losses be near.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import golden_runs
import pytest

from phaser.core.errors import MissingDependency
from phaser.methods.table import METHODS
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.runtime import require_packages

FROZEN = Path(__file__).parent / "frozen"
NAMES = sorted(path.stem for path in FROZEN.glob("*-*.json"))
NEAR = 5e-3
"""Machines that round otherwise were seen to differ by half of that where a policy rehearses what
it answered earlier."""


def read(name: str) -> Any:
    return json.loads((FROZEN / f"{name}.json").read_text())


def rounding_aside(run: dict[str, Any], *, only_first: bool) -> dict[str, Any]:
    """What every machine must give: which frames were kept, and which each step was trained on.

    only_first: of the first task alone, where the policy's own answers choose what later steps
    rehearse.
    """
    samples = {task: steps["samples"] for task, steps in run["steps"].items()}
    return {
        "kept": run["kept"],
        "samples": dict(list(samples.items())[: 1 if only_first else None]),
    }


def losses(run: dict[str, Any]) -> list[float]:
    return [loss for steps in run["steps"].values() for loss in steps["losses"]]


def require_same(found: dict[str, Any], frozen: dict[str, Any], *, exact: bool, asks: bool) -> None:
    """Bit for bit, or as near as another machine can come; `asks`: the draw asks the policy."""
    if exact:
        assert [part for part in frozen if found[part] != frozen[part]] == []
        return
    assert rounding_aside(found, only_first=asks) == rounding_aside(frozen, only_first=asks)
    assert losses(found) == pytest.approx(losses(frozen), abs=NEAR)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_golden_run_gives_the_frozen_bits_or_where_the_machine_rounds_otherwise_the_same_frames(
    name: str, tmp_path: Path
) -> None:
    suite, _, method = name.partition("-")
    if suite == "libero":
        try:
            require_packages()
            assets_folder("libero-goal")
        except MissingDependency as error:
            pytest.skip(str(error))
    found = json.loads(json.dumps(golden_runs.run(suite, method, tmp_path / "run")))
    draw = METHODS[method].draw
    require_same(
        found,
        read(name),
        exact=golden_runs.arithmetic() == read("arithmetic"),
        asks=draw.needs_losses or draw.needs_gradient,
    )


def test_a_run_of_every_kind_of_rule_is_frozen() -> None:
    frozen = [METHODS[name.partition("-")[2]] for name in NAMES]
    assert len({type(one.keep) for one in frozen}) >= 3
    assert any(one.draw.needs_prototypes for one in frozen)
    assert any(one.draw.needs_gradient for one in frozen)
    assert {"features", "outputs"} <= {asked for one in frozen for asked in one.asks}
    assert {name.partition("-")[0] for name in NAMES} == set(golden_runs.STARTS)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("part", ["weights", "samples", "kept", "loss", "little"])
def test_what_differs_from_the_frozen_run_is_noticed(part: str, exact: bool) -> None:
    frozen, found = read("metaworld-phaser"), read("metaworld-phaser")
    last = found["steps"]["02-drawer-close"]
    if part == "weights":
        found["weights"]["00-reach"] = "0" * 64
    elif part == "samples":
        last["samples"] = "0" * 64
    elif part == "kept":
        found["kept"]["reach"][0] += 1
    else:
        last["losses"][-1] += 0.01 if part == "loss" else 1e-5
    if not exact and part in ("weights", "little"):
        require_same(found, frozen, exact=exact, asks=False)
        return
    with pytest.raises(AssertionError):
        require_same(found, frozen, exact=exact, asks=False)
