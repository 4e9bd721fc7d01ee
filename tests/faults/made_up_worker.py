"""A worker process that needs no torch: some of its cells fail, some kill it."""

import os
import signal

from phaser.experiments.events import Failed, Finished


def work(pipe):
    while (job := pipe.recv()) is not None:
        if job.run.seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        pipe.send(Failed(message="no cup here") if job.run.seed == 2 else Finished())
