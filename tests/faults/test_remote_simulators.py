"""Simulators that call back over TCP; a stand-in takes Ray's place, which test_ray_engine uses."""

import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from multiprocessing.connection import Client
from types import SimpleNamespace

import pytest
from made_up_run import made_up_run

from phaser.core.errors import PhaserError
from phaser.evaluation.simulators import Simulators
from phaser.experiments.cell import run_cell
from phaser.experiments.ray_simulators import _called_back, _Launcher

RESULTS = ("episodes.parquet", "losses.parquet", "routing.json", "budget.json")


class StandIn:
    """As much of Ray as simulators use, with threads for nodes."""

    exceptions = SimpleNamespace(RayError=RuntimeError)
    util = SimpleNamespace(get_node_ip_address=lambda: "127.0.0.1")

    def __init__(self, *, has_room: bool = True) -> None:
        self._nodes = ThreadPoolExecutor(8)
        self._has_room = has_room
        self.cancelled: list[Future] = []

    def remote(self, function):
        def start(*arguments):
            return self._nodes.submit(function, *arguments) if self._has_room else Future()

        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=start))

    def wait(self, references, *, timeout):
        done, rest = wait(references, timeout)
        return list(done), list(rest)

    def get(self, reference):
        return reference.result()

    def cancel(self, reference, *, force):
        self.cancelled.append(reference)


def test_episodes_of_remote_simulators_have_the_bits_of_local_ones(tmp_path):
    run, ray = made_up_run(tmp_path / "cache"), StandIn()
    with Simulators(1) as here:
        run_cell(run, tmp_path / "local", simulators=here)
    with Simulators(2, launch=_Launcher(ray=ray, room_s=120)) as there:
        run_cell(run, tmp_path / "remote", simulators=there)
        lost = there.ready(2)[0]
        assert (lost.pid, lost.is_alive) == (None, True)
        lost.pipe.close()
        assert "ended with code 0" in lost.end()
        assert there.replace(lost).is_alive
    for name in RESULTS:
        expected = (tmp_path / "local" / name).read_bytes()
        assert (tmp_path / "remote" / name).read_bytes() == expected, name


def test_a_cluster_without_room_is_told_in_one_line():
    ray = StandIn(has_room=False)
    with pytest.raises(PhaserError, match=r"no simulator within 0.2 s; give fewer --simulators"):
        _Launcher(ray=ray, room_s=0.2)()
    assert len(ray.cancelled) == 1


def test_who_does_not_know_the_key_is_turned_away():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        address = server.getsockname()[:2]
        refused = []

        def call() -> None:
            try:
                Client(address, authkey=b"guessed").close()
            except Exception as error:
                refused.append(error)
            with Client(address, authkey=b"known") as pipe:
                pipe.send("it is me")

        caller = threading.Thread(target=call)
        caller.start()
        with _called_back(server, b"known") as pipe:
            assert pipe.recv() == "it is me"
        caller.join()
    assert len(refused) == 1
