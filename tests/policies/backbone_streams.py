"""Two made-up tasks that a tiny backbone with LoRA learns one after the other."""

from dataclasses import replace

import numpy as np
from accelerate import Accelerator
from robot_samples import BACKBONES, fixed

from phaser.core.contract import Contract
from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.methods.elastic import Elastic
from phaser.methods.table import METHODS
from phaser.policies.lora import Lora
from phaser.testing.made_up import LAYOUT, made_up_task
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable, TaskFrames
from phaser.training.learner import PolicyLearner
from phaser.training.stream import TaskStream

SIZE, SEED = 28, 1
TASKS = ("lift", "push")
SHADES = (40, 120, 220)
"""What the camera sees of each phase."""
CHANNELS = {"lift": 0, "push": 2}
"""The colour in which it sees each task."""
CONTRACT = Contract(
    suite="made-up",
    cameras=("front",),
    image_size=(SIZE, SIZE),
    state=("x", "y", "z", "grip"),
    state_centre=(0.0,) * 4,
    state_scale=(1.0,) * 4,
    action=("dx", "dy", "dz", "close"),
    layout=LAYOUT,
)


def settings_of(name):
    settings = replace(
        fixed(BACKBONES[name]), chunk_length=2, num_cameras=1, lora=Lora(rank=8, alpha=16)
    )
    if name == "qwen-gr00t":
        return replace(settings, head_dropout=0.0, noise_repeats=4)
    return replace(settings, colour=None) if name == "openvla-oft" else settings


def frames_of(task):
    shades = np.concatenate(
        [
            np.repeat(SHADES, [phase.stop - phase.start for phase in cut.phases])
            for cut in task.segmentations
        ]
    )
    images = np.zeros((len(shades), SIZE, SIZE, 3), np.uint8)
    images[..., CHANNELS[task.task.name]] = shades[:, None, None]
    frames = TaskFrames.of(
        task.demos, {"front": images}, instruction=task.task.instruction, chunk_length=2
    )
    # The state alone would give the task away.
    return replace(frames, states=np.full_like(frames.states, 0.1))


def learnt(name, method, *, steps, batch_size=8, rate=2e-3, **fit):
    """The learner after each task."""
    tasks = [made_up_task(one, num_demos=2) for one in TASKS]
    streams = Streams(SEED)
    learner = PolicyLearner(
        policy=settings_of(name).build(CONTRACT, streams.named("weights")),
        frames=FrameTable({task.task.name: frames_of(task) for task in tasks}),
        fit=Fit(
            steps_per_task=steps,
            batch_size=batch_size,
            learning_rate=rate,
            weight_decay=0.0,
            warm_up=0.1,
            gradient_clip=1.0,
            **fit,
        ),
        streams=streams,
        accelerator=Accelerator(cpu=True),
    )
    stream = TaskStream(
        learner=learner, method=quick(METHODS[method]), budget=Budget.per_task(12), streams=streams
    )
    for finished in stream(tasks):
        yield learner, finished


def quick(method):
    """The method; elastic weights from a few frames, as each costs a pass."""
    if isinstance(method.penalty, Elastic):
        return replace(method, penalty=replace(method.penalty, num_frames=4))
    return method


def loss_of(learner, task):
    """The mean loss of some frames of a task, spread over its demonstrations."""
    return float(learner.frame_losses(learner.frames.tasks[task].refs(task)[::5]).mean())
