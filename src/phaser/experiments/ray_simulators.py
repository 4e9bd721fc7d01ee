"""Simulator processes on the nodes of a Ray cluster: a large evaluation by many machines.

The policy stays where it is and is asked as ever; only physics and drawing go elsewhere. A node's
simulator calls back over TCP with a key of its own and is then used like one of this machine, so
episodes have the same bits on the same kind of node.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge
from typing import Any

from phaser.core.errors import PhaserError
from phaser.evaluation.simulators import GRACE_S, Running, Simulators
from phaser.experiments.ray_engine import connected, library

ROOM_S = 120.0
"""Seconds in which the cluster must find room for a simulator and start it."""

Address = tuple[str, int]


@contextmanager
def simulators_on_ray(
    num_simulators: int, address: str | None, *, room_s: float = ROOM_S
) -> Iterator[Simulators]:
    """Simulators that have one processor of the cluster each; started when first needed."""
    ray = library()
    with (
        connected(ray, address),
        Simulators(num_simulators, launch=_Launcher(ray=ray, room_s=room_s)) as simulators,
    ):
        yield simulators


@dataclass(frozen=True, kw_only=True, slots=True)
class _Launcher:
    """Starts simulators where there is room."""

    ray: Any
    room_s: float

    def __call__(self) -> _RemoteProcess:
        key = secrets.token_bytes(32)
        host = self.ray.util.get_node_ip_address()
        with socket.create_server((host, 0)) as server:
            server.settimeout(self.room_s)
            address: Address = server.getsockname()[:2]
            simulate = self.ray.remote(_simulate).options(num_cpus=1, max_retries=0)
            reference = simulate.remote(address, key)
            try:
                pipe = _called_back(server, key)
            except TimeoutError:
                self.ray.cancel(reference, force=True)
                raise PhaserError(
                    f"the Ray cluster started no simulator within {self.room_s:g} s; give fewer "
                    "--simulators than it has free processors, or nodes that reach this machine"
                ) from None
        return _RemoteProcess(ray=self.ray, reference=reference, pipe=pipe)


@dataclass(kw_only=True, eq=False)
class _RemoteProcess:
    """A simulator on some node, seen from here."""

    ray: Any
    reference: Any
    pipe: Connection
    _words: str = ""
    pid: None = None

    @property
    def is_alive(self) -> bool:
        ready, _ = self.ray.wait([self.reference], timeout=0)
        return not ready

    def ended(self, within_s: float) -> str | None:
        ready, _ = self.ray.wait([self.reference], timeout=within_s)
        if not ready:
            return None
        try:
            what, self._words = self.ray.get(self.reference)
        except self.ray.exceptions.RayError as error:
            return f"was lost with its process or node ({type(error).__name__})"
        return str(what)

    def last_words(self) -> str:
        return self._words

    def close(self) -> None:
        self.pipe.close()
        # It ends by itself when its pipe is closed, and tidies up; a node that does not is cut off.
        if self.ended(GRACE_S) is None:
            with suppress(self.ray.exceptions.RayError):
                self.ray.cancel(self.reference, force=True)


def _called_back(server: socket.socket, key: bytes) -> Connection:
    """The connection of the one that knows the key; others are turned away."""
    while True:
        caller, _ = server.accept()
        caller.setblocking(True)
        pipe = Connection(caller.detach())
        try:
            deliver_challenge(pipe, key)
            answer_challenge(pipe, key)
        except (AuthenticationError, EOFError, OSError):
            pipe.close()
        else:
            return pipe


def _simulate(address: Address, key: bytes) -> tuple[str, str]:
    """On a node: one simulator process, until the other end hangs up; how it ended, and why."""
    with Client(address, authkey=key) as pipe:
        running = Running(pipe.fileno())
    try:
        return running.ended(None) or "", running.last_words()
    finally:
        running.close()
