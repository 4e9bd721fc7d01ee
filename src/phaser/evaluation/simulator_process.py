"""A process that simulates and nothing else: `python -m phaser.evaluation.simulator_process FD`.

FD is its end of a socket pair. It never imports torch, keeps the simulators that it has made, and
ends when the other end is closed, also in the middle of an episode.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

import numpy as np
from jaxtyping import Float, UInt8

from phaser.core.errors import PhaserError
from phaser.core.policy import Observation
from phaser.core.suite import Env, Suite
from phaser.evaluation.messages import (
    Answer,
    Ended,
    Film,
    Job,
    Looked,
    Question,
    Refused,
    Spent,
    Start,
)

Made = TypeVar("Made")


class Simulation:
    """The simulators of one suite, one per task, and the episode that runs in one of them."""

    def __init__(self) -> None:
        self._suite: Suite | None = None
        self._envs: dict[str, Env] = {}
        self._steps = 0
        self._pictures: list[UInt8[np.ndarray, "height width 3"]] = []
        self._physics_s = self._rendering_s = self._reported_s = 0.0

    def answer(self, question: Question) -> Answer:
        self._physics_s = self._rendering_s = 0.0
        if isinstance(question, Start):
            return self._start(question.suite, question.job)
        return self._act(question.chunk)

    def _start(self, suite: Suite, job: Job) -> Looked:
        if suite != self._suite:
            self._suite, self._envs = suite, {}
        name = job.task.name
        if name not in self._envs:
            self._envs[name] = suite.make_env(job.task)
        self._job, self._env, self._steps = job, self._envs[name], 0
        observation, self._physics_s = _timed(lambda: self._env.reset(job.env_seed))
        self._pictures = [_picture(observation)] if job.film_every else []
        return Looked(observation=observation, steps=0, spent=self._spent())

    def _act(self, chunk: Float[np.ndarray, "chunk action"]) -> Looked | Ended:
        success, self._physics_s = _timed(lambda: self._step(chunk))
        if success or self._steps >= self._job.horizon:
            return Ended(
                success=success,
                steps=self._steps,
                milestones=self._env.milestones(),
                spent=self._spent(),
                film=self._film(),
            )
        observation, self._rendering_s = _timed(self._env.observe)
        return Looked(observation=observation, steps=self._steps, spent=self._spent())

    def _step(self, chunk: Float[np.ndarray, "chunk action"]) -> bool:
        for action in chunk:
            success = self._env.step(action)
            self._steps += 1
            if success or self._steps >= self._job.horizon:
                return success
            if self._job.film_every and self._steps % self._job.film_every == 0:
                self._pictures.append(_picture(self._env.observe()))
        return False

    def _film(self) -> Film | None:
        """All pictures and one of the end; nothing where no clip was asked for."""
        if not self._job.film_every:
            return None
        pictures, self._pictures = [*self._pictures, _picture(self._env.observe())], []
        return np.stack(pictures)

    def _spent(self) -> Spent:
        before, self._reported_s = self._reported_s, time.process_time()
        return Spent(
            physics_s=self._physics_s,
            rendering_s=self._rendering_s,
            processor_s=self._reported_s - before,
        )


def serve(pipe: Connection) -> None:
    """Answer until the other end closes."""
    simulation = Simulation()
    while True:
        question = pipe.recv()
        try:
            answer = simulation.answer(question)
        except PhaserError as error:
            answer = Refused(kind=type(error), text=str(error))
        pipe.send(answer)


def main(descriptor: int) -> None:
    # Both reach a whole group of processes; the trainer alone decides what becomes of an episode.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_trainer, args=(descriptor,), daemon=True).start()
    try:
        serve(Connection(descriptor))
    except (EOFError, ConnectionError):
        _end()


def _end_with_trainer(descriptor: int) -> None:
    """A simulator that hangs would never read that the other end is gone."""
    hang_up = select.poll()
    # Of a connection to another machine only this much is noticed; elsewhere it is one thing.
    hang_up.register(descriptor, getattr(select, "POLLRDHUP", 0))
    hang_up.poll()
    _end()


def _end() -> None:
    """At once: GL libraries that are taken down in an orderly way crash or complain."""
    os._exit(0)


def _picture(seen: Observation) -> UInt8[np.ndarray, "height width 3"]:
    """The first camera's picture, copied: a simulator may draw the next one into the same place."""
    return next(iter(seen.images.values())).copy()


def _timed(work: Callable[[], Made]) -> tuple[Made, float]:
    begin = time.perf_counter()
    made = work()
    return made, time.perf_counter() - begin


if __name__ == "__main__":
    main(int(sys.argv[1]))
