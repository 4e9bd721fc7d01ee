"""Short runs whose results are frozen: what a redesign must not change.

A run is described by the command that starts it, because flags outlive the code behind them. Its
fingerprint is what the run computed (weights, losses, batches, episodes, kept frames), read from
the files of its folder. `python tests/golden/golden_runs.py OUT` freezes all of them anew; say in
the commit which rule changed and why.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

AS_FROZEN = ("--fit.warm-up", "0", "--storage.codec", "webp-lossless")
"""Defaults at the time of freezing that have changed since."""
METAWORLD = (
    *("run", "metaworld-10", "--budget", "7", "--simulators", "1", "--workers", "1"),
    *("--suite.task-list", "reach", "pick-place", "drawer-close"),
    *("--suite.recording.num-train", "3", "--suite.recording.num-heldout", "1"),
    *("--suite.recording.max-steps", "150"),
    *("--policy.width", "16", "--policy.channels", "4"),
    *("--fit.steps-per-task", "6", "--fit.batch-size", "8"),
    *("--evaluation.rollouts-per-task", "1", "--evaluation.learnt-rollouts", "1"),
    *AS_FROZEN,
)
LIBERO = (
    *("run", "libero-goal", "--budget", "7", "--simulators", "1", "--workers", "1"),
    *("--suite.task-list", "turn_on_the_stove", "put_the_bowl_on_the_plate"),
    *("--suite.recording.num-train", "2", "--suite.recording.num-heldout", "1"),
    *("--policy.width", "16", "--policy.channels", "4"),
    *("--fit.steps-per-task", "6", "--fit.batch-size", "8"),
    *("--evaluation.rollouts-per-task", "1", "--evaluation.learnt-rollouts", "1"),
    *AS_FROZEN,
)
STARTS = {"metaworld": METAWORLD, "libero": LIBERO}


def fingerprint(folder: Path) -> dict[str, object]:
    """What a finished run computed; names of files and phases, versions and clocks are left out."""
    return {
        "weights": {path.stem: _weights(path) for path in sorted(_checkpoints(folder))},
        "steps": {path.stem: _steps(path) for path in sorted((folder / "steps").glob("*"))},
        "episodes": [
            [row[name] for name in ("after_task", "task", "env_seed", "success", "steps")]
            for row in pq.read_table(folder / "episodes.parquet").to_pylist()
        ],
        "phase_losses": _sha(
            [
                [row["after_task"], row["task"], row["phase_index"], row["loss"]]
                for row in pq.read_table(folder / "losses.parquet").to_pylist()
            ]
        ),
        "routing": _sha(
            [
                [one["task"], [[p["task"], p["index"], p["weight"]] for p in one["phases"]]]
                for one in json.loads((folder / "routing.json").read_text())
            ]
        ),
        "kept": kept_frames(folder),
    }


def kept_frames(folder: Path) -> dict[str, list[int]]:
    """How many frames of each phase are stored, by task; their content is in the next line."""
    if not (folder / "memory" / "manifest.json").exists():
        return {}
    manifest = json.loads((folder / "memory" / "manifest.json").read_text())
    return {task["name"]: [row["frames"] for row in task["phases"]] for task in manifest["tasks"]}


def arithmetic() -> str:
    """A hash of a few products and convolutions: machines that differ in it round differently."""
    import torch

    torch.set_num_threads(1)
    draws = np.random.Generator(np.random.Philox(key=0))
    left, right, image, kernel = (
        torch.from_numpy(draws.standard_normal(shape)).float()
        for shape in ((64, 300), (300, 256), (3, 8, 24, 24), (16, 8, 3, 3))
    )
    results = [left @ right, torch.nn.functional.conv2d(image, kernel), left.exp().sum(1)]
    return hashlib.sha256(b"".join(one.numpy().tobytes() for one in results)).hexdigest()


def _checkpoints(folder: Path) -> list[Path]:
    found = (folder / "checkpoints").glob("*.safetensors")
    return [path for path in found if not path.name.startswith("unfinished")]


def _weights(path: Path) -> str:
    from safetensors.numpy import load_file

    weights = load_file(path)
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(weights[name].tobytes())
    return digest.hexdigest()


def _steps(path: Path) -> dict[str, object]:
    rows = pq.read_table(path).to_pylist()
    samples = [[row[f"sample_{part}"] for part in ("tasks", "demos", "frames")] for row in rows]
    return {"losses": [row["loss"] for row in rows], "samples": _sha(samples)}


def _sha(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def run(suite: str, method: str, folder: Path) -> dict[str, object]:
    """Run one golden run to its end and take its fingerprint."""
    from phaser.cli.main import execute

    code = execute([*STARTS[suite], "--method", method, "--out", str(folder), "--json"])
    if code != 0:
        raise RuntimeError(f"{suite} {method} ended with exit code {code}")
    return fingerprint(folder)


if __name__ == "__main__":
    out, wanted = Path(sys.argv[1]), sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        suite, _, method = name.partition(":")
        found = run(suite, method, out / "runs" / suite / method)
        (out / f"{suite}-{method}.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "arithmetic.json").write_text(json.dumps(arithmetic()) + "\n")
