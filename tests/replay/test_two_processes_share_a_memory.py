"""Two real processes under torch.distributed: one memory, one draw, one writer."""

import json
import subprocess
import sys
from pathlib import Path

from made_samples import learn, numpy_dataset, replay_in

WORKER = """
import json, sys
from pathlib import Path
import torch.distributed as dist
sys.path.append(sys.argv[4])
from made_samples import numpy_dataset, replay_in

folder, rank = Path(sys.argv[1]), int(sys.argv[2])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[3]}", rank=rank, world_size=2)
replay = replay_in(folder)
drawn = []
for instruction in ("lift the cup", "drop the cup"):
    with replay.task(numpy_dataset(), instruction=instruction) as task:
        drawn += [
            [[one["episode_index"], one["frame_index"]] for one in task.sample(3)] for _ in range(4)
        ]
print(json.dumps([drawn[4:], replay.stored]))
dist.destroy_process_group()
"""


def test_two_processes_draw_what_one_would_and_write_once(tmp_path: Path) -> None:
    source = Path(sys.modules["phaser"].__file__ or "").parents[1]
    workers = [
        subprocess.Popen(
            [
                *(sys.executable, "-c", WORKER, str(tmp_path / "shared"), str(rank)),
                *(str(tmp_path / "meeting"), str(Path(__file__).parent)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
        )
        for rank in range(2)
    ]
    answers = [worker.communicate(timeout=60) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], answers
    drawn, stored = zip(*(json.loads(out) for out, _ in answers), strict=True)
    assert stored == (["lift-the-cup", "drop-the-cup"],) * 2

    alone = replay_in(tmp_path / "alone")
    learn(alone, "lift the cup")
    task = alone.task(numpy_dataset(), instruction="drop the cup")
    whole = [
        [[one["episode_index"], one["frame_index"]] for one in task.sample(6)] for _ in range(4)
    ]
    together = [
        [pair[rank] for pair in zip(*step, strict=True) for rank in range(2)]
        for step in zip(*drawn, strict=True)
    ]
    assert together == whole
