"""A run of a tiny backbone with LoRA in any number of processes, as a launcher would start them.

Run as a program, everything is imported once; each line of standard input is an order that forks
one process per rank. The first one may end itself as if killed.
"""

import json
import os
import signal
import sys
import traceback
from pathlib import Path

import peft  # noqa: F401
import transformers.models.qwen2_5_vl.modeling_qwen2_5_vl  # noqa: F401
from made_up_run import forget_the_commit
from made_up_suite import MadeUpSuite

from phaser.core import files
from phaser.experiments.cell import run_cell
from phaser.experiments.run import Evaluation, Run
from phaser.memory.budget import Budget
from phaser.methods.table import METHODS
from phaser.policies.lora import Lora
from phaser.policies.parts.compute import Compute
from phaser.policies.parts.scaling import Scaling
from phaser.policies.qwen_gr00t.settings import QwenGr00t
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable
from phaser.training.sharded import ShardedEngine


def backbone_run(cache, method="phaser", parts=1, keep_moments=False, precision="float32"):
    """Flow matching, so that noise has to belong to a row's place in the global batch."""
    return Run(
        suite=MadeUpSuite(task_list=("reach", "push"), cache=cache),
        policy=QwenGr00t(
            size="tiny",
            chunk_length=4,
            prompt="do: {instruction}",
            scaling=Scaling(rule="fixed"),
            lora=Lora(rank=4, alpha=8),
            head_dropout=0.0,
            noise_repeats=2,
            compute=Compute(precision=precision),
        ),
        fit=Fit(
            steps_per_task=6,
            batch_size=4,
            checkpoint_every_steps=2,
            gradient_clip=1.0,
            gradient_accumulation=parts,
            keep_moments=keep_moments,
            read_ahead=2,
        ),
        evaluation=Evaluation(rollouts_per_task=2, learnt_rollouts=1, earlier_rollouts=1),
        method=METHODS[method],
        budget=Budget.per_task(8),
    )


def _watch_batches(seen):
    """Note the frames that this process gathers."""
    gather = FrameTable.samples

    def samples(self, refs):
        seen.append([[ref.task, ref.demo, ref.frame] for ref in refs])
        return gather(self, refs)

    FrameTable.samples = samples


def _watch_shares(held):
    """Note at every step how many weights there are, are held here, and are in the bare policy."""
    step = ShardedEngine.step

    def watched(self, gradient_clip):
        shares = list(self.wrapped.parameters())
        held.append(
            [
                sum(share.numel() for share in shares),
                sum(share.to_local().numel() for share in shares),
                sum(weight.numel() for weight in self.weights.values()),
            ]
        )
        step(self, gradient_clip)

    ShardedEngine.step = watched


def _child(order, rank, cache):
    folder, count, seen, held = Path(order["folder"]), 0, [], []

    def reached(stage, path):
        nonlocal count
        count += stage == "renamed" and path.is_relative_to(folder)
        if count == order.get("kill_at"):
            os.kill(os.getpid(), signal.SIGKILL)

    files.reached = reached
    _watch_batches(seen)
    _watch_shares(held)
    run_cell(backbone_run(cache, **order.get("settings", {})), folder)
    Path(f"{folder}-{rank}.json").write_text(json.dumps(seen))
    Path(f"{folder}-{rank}-held.json").write_text(json.dumps(held))


def _forked(order, rank, cache):
    pid = os.fork()
    if pid:
        return pid
    status = 1
    if order["world"] > 1:
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(order["port"])}
        os.environ |= {"WORLD_SIZE": str(order["world"]), **meeting}
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        if "zero" in order:
            os.environ |= {
                "ACCELERATE_USE_DEEPSPEED": "true",
                "ACCELERATE_DEEPSPEED_ZERO_STAGE": str(order["zero"]),
                "LOCAL_WORLD_SIZE": str(order["world"]),
            }
        if order.get("fsdp"):
            os.environ |= {"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2"}
    try:
        _child(order, rank, cache)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _obey(order, cache):
    pids = [_forked(order, rank, cache) for rank in range(order["world"])]
    _, first = os.waitpid(pids[0], 0)
    if first:
        # A launcher ends the others when one is lost.
        for pid in pids[1:]:
            os.kill(pid, signal.SIGKILL)
    rest = [os.waitpid(pid, 0)[1] for pid in pids[1:]]
    return [os.waitstatus_to_exitcode(status) for status in (first, *rest)]


if __name__ == "__main__":
    forget_the_commit()
    if "DS_ACCELERATOR" in os.environ:
        import deepspeed

        # It would compile a faster way between processes of one machine.
        deepspeed.ops.__compatible_ops__.clear()
    for line in sys.stdin:
        print(json.dumps(_obey(json.loads(line), Path(sys.argv[1]))), flush=True)
