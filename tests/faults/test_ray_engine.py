"""A real Ray cluster of two nodes: one is lost in the middle of a cell, and nothing else is."""

import json
import os
import sys
import threading
import time
from dataclasses import replace

import pytest
from made_up_run import made_up_run

from phaser.core.errors import PhaserError
from phaser.evaluation.simulators import Simulators
from phaser.experiments.cell import run_cell
from phaser.experiments.events import Measured, Stepped
from phaser.experiments.grid import run_grid
from phaser.experiments.position import Position
from phaser.experiments.ray_engine import RayCluster
from phaser.experiments.ray_simulators import simulators_on_ray

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'phaser-vla[ray]'")
RESULTS = ("episodes.parquet", "losses.parquet", "routing.json", "budget.json")
QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_failure_threshold": 3,
}


@pytest.fixture(scope="module")
def cluster():
    """A head without room for cells, and two nodes with room for one each."""
    before = dict(os.environ)
    os.environ |= {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    made, nodes = started()
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    yield made, nodes
    ray.shutdown()
    made.shutdown()
    os.environ.clear()
    os.environ |= before


def started(attempts=3):
    """The cluster; Ray gives a node thirty seconds to start, which a busy machine may exceed."""
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80 * 1024**2}
    made = Cluster()
    try:
        made.add_node(num_cpus=0, include_dashboard=False, _system_config=QUICK, **small)
        return made, [made.add_node(num_cpus=1, **small) for _ in range(2)]
    except Exception:
        made.shutdown()
        if attempts == 1:
            raise
        return started(attempts - 1)


def lose_a_node(cluster, nodes, cells, out, lost):
    """Kill the node of the first cell that stands in the middle of a task."""
    until = time.monotonic() + 300
    while time.monotonic() < until and not lost:
        for cell in cells:
            place = out / cell.name / "position.json"
            if place.exists() and Position.read(place).step:
                pid = json.loads((out / cell.name / ".lease").read_text())["pid"]
                (node,) = [one for one in nodes if is_below(pid, one)]
                cluster.remove_node(node, allow_graceful=False)
                lost.append((cell.name, pid))
                return
        time.sleep(0.02)


def is_below(pid, node):
    """Whether a process was started by a node."""
    import psutil

    started = {info.process.pid for info in node.all_processes["raylet"]}
    return bool(started & {one.pid for one in psutil.Process(pid).parents()})


@pytest.mark.slow
def test_simulators_on_other_nodes_find_the_same_episodes_to_the_bit(cluster, tmp_path):
    run = made_up_run(tmp_path / "cache")
    with Simulators(2) as here:
        run_cell(run, tmp_path / "local", simulators=here)
    with simulators_on_ray(2, None) as there:
        run_cell(run, tmp_path / "ray", simulators=there)
        workers = there.ready(2)
        assert [worker.pid for worker in workers] == [None, None]
        assert all(worker.is_alive for worker in workers)
        # One of them is lost: it is noticed, said and replaced.
        workers[0].pipe.close()
        assert "ended with code 0" in workers[0].end()
        assert there.replace(workers[0]).is_alive
    for name in RESULTS:
        expected = tmp_path / "local" / name
        assert (tmp_path / "ray" / name).read_bytes() == expected.read_bytes(), name


def test_a_cluster_without_room_for_a_simulator_is_told_in_one_line(cluster):
    said = pytest.raises(PhaserError, match="no simulator within 8 s; give fewer --simulators")
    with simulators_on_ray(3, None, room_s=8) as there, said:
        there.ready(3)


@pytest.mark.slow
def test_a_grid_outlives_a_node_and_ends_with_the_bits_of_the_local_engine(cluster, tmp_path):
    made, nodes = cluster
    fit = replace(made_up_run(tmp_path).fit, steps_per_task=24)
    cells = [made_up_run(tmp_path / "cache", name, fit=fit) for name in ("phaser", "er")]
    run_grid(cells, tmp_path / "local", lambda *_: None, num_workers=1)
    told, lost = [], []
    arguments = (made, nodes, cells, tmp_path / "ray", lost)
    killer = threading.Thread(target=lose_a_node, args=arguments, daemon=True)
    killer.start()
    folders = run_grid(
        cells, tmp_path / "ray", lambda *event: told.append(event), engine=RayCluster()
    )
    killer.join()
    assert lost, "no node was lost: the cells were too quick"
    assert not os.path.exists(f"/proc/{lost[0][1]}")
    for folder in folders:
        names = [path.name for path in (folder / "checkpoints").glob("*.safetensors")]
        assert len(names) == 3
        for name in (*RESULTS, *(f"checkpoints/{one}" for one in names)):
            expected = tmp_path / "local" / folder.name / name
            assert (folder / name).read_bytes() == expected.read_bytes(), name
    for cell in cells:
        mine = [event for name, event in told if name == cell.name]
        assert sum(isinstance(event, Measured) for event in mine) >= 3
        assert any(isinstance(event, Stepped) for event in mine)
    assert not list((tmp_path / "ray").glob(".shared-*"))
