"""Make a small pretrained base of a finished joint run, for the paper's regime at a CPU's size.

A backbone of the size `small` learns tasks jointly, all of its weights trained (`phaser run
openvla-oft-base`). This writes what it learnt in the published layout of its backbone, so that
`--policy.weights.checkpoint FOLDER --policy.weights.head checkpoint` begins with it and LoRA learns
other tasks on top:

    python -m benchmarks.small_base RUN FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from safetensors.torch import load_file

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.evaluation.matrix import JOINT_ROW
from phaser.experiments.finished import is_finished
from phaser.experiments.run import run_from_file


def write_base(run_folder: Path, base: Path) -> None:
    """Write the policy of a finished joint run as a checkpoint folder."""
    run = run_from_file(run_folder / "run.json")
    if not run.method.joint or getattr(run.policy, "lora", "none of ours") is not None:
        raise BadInput(
            f"{run_folder} is a run of {run.method.name}; expected a joint run of a backbone that "
            "was trained whole, such as phaser run openvla-oft-base"
        )
    if not is_finished(run, run_folder):
        raise BadInput(f"{run_folder} is not finished; call its command again to go on")
    if base.exists():
        raise BadInput(f"{base} exists; a base is written once, so name another folder")
    policy = run.policy.build(run.suite.contract, Streams(run.seed).named("weights"))
    policy.load_trained_state(load_file(run_folder / "checkpoints" / f"00-{JOINT_ROW}.safetensors"))
    policy.export(base)  # type: ignore[attr-defined]


if __name__ == "__main__":
    write_base(Path(sys.argv[1]), Path(sys.argv[2]))
