"""What the memories of the benchmark hold: recorded frames, or tiny made-up ones by the million."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from phaser.core.demonstration import ActionLayout, Demo, FrameRef, Task
from phaser.core.memory import Bucket, PhaseId, PreparedTask, Prototype
from phaser.core.segmentation import Segmentation
from phaser.experiments.presets import preset

Sample = dict[str, np.ndarray]
CHUNK, STATE, ACTION = 8, 4, 4
POOL = 300
MAX_TASKS, PHASES_PER_TASK = 200, 5
# Adding a task writes the list of all phases anew; many tasks times many phases would take hours.
MAX_TASKS_TIMES_PHASES = 2_000_000
MOTION = (0, 1, 2)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Content:
    """Samples by number, and how long the vectors of a phase's prototype are."""

    name: str
    sample: Callable[[int], Sample]
    language_size: int
    vision_size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How many frames there are, and how they fall into tasks and phases of equal size."""

    num_frames: int
    num_phases: int

    @property
    def num_tasks(self) -> int:
        most = min(MAX_TASKS, MAX_TASKS_TIMES_PHASES // self.num_phases)
        return max(2, min(self.num_phases // PHASES_PER_TASK, most))

    @property
    def phases_per_task(self) -> int:
        return self.num_phases // self.num_tasks

    @property
    def frames_per_phase(self) -> int:
        return self.num_frames // self.num_phases

    @property
    def frames_per_task(self) -> int:
        return self.phases_per_task * self.frames_per_phase

    def tasks(self, content: Content) -> Iterator[tuple[Task, list[Bucket]]]:
        """Each task with its buckets; the frame's number among all is its content's, too."""
        rng = np.random.default_rng(0)
        for number in range(self.num_tasks):
            name = f"task-{number:03}"
            language = rng.normal(size=content.language_size)
            buckets = [
                Bucket(
                    phase=PhaseId(name, phase, f"phase {phase}"),
                    frames=tuple(
                        FrameRef(name, phase, frame) for frame in range(self.frames_per_phase)
                    ),
                    prototype=_prototype(rng, language, content),
                )
                for phase in range(self.phases_per_task)
            ]
            yield Task(name=name, instruction=f"do the work of {name}"), buckets

    def number(self, ref: FrameRef) -> int:
        """Which of all frames this is; demonstration d of a task is its phase d."""
        task = int(ref.task.rpartition("-")[2])
        return (task * self.phases_per_task + ref.demo) * self.frames_per_phase + ref.frame


def current_task(content: Content) -> PreparedTask:
    """The task that is being learnt, whose phases the stored ones are scored against."""
    rng = np.random.default_rng(1)
    demo = Demo(
        task="now",
        index=0,
        actions=rng.normal(size=(20 * PHASES_PER_TASK, ACTION)),
        states=np.zeros((20 * PHASES_PER_TASK, STATE)),
        layout=ActionLayout(motion=MOTION, gripper=(3,)),
    )
    language = rng.normal(size=content.language_size)
    return PreparedTask(
        task=Task(name="now", instruction="do what is new"),
        demos=(demo,),
        segmentations=(
            Segmentation.from_boundaries(
                [20 * phase for phase in range(1, PHASES_PER_TASK)],
                num_frames=demo.num_frames,
                labels=tuple(f"phase {phase}" for phase in range(PHASES_PER_TASK)),
            ),
        ),
        prototypes=tuple(_prototype(rng, language, content) for _ in range(PHASES_PER_TASK)),
    )


def recorded() -> Content:
    """Two cameras of 96 x 96 pixels from recorded Meta-World demonstrations of two tasks."""
    suite = preset("metaworld-10").suite
    pool: list[Sample] = []
    demos = [demo for task in suite.tasks()[:2] for demo in suite.demos(task, "train")]
    for number in range(POOL):
        demo = demos[number % len(demos)]
        frame = number * demo.num_frames // POOL
        images = {name: camera.read([frame])[0] for name, camera in demo.cameras.items()}
        pool.append(images | _numbers(number))
    return Content(
        name="recorded, 2 x 96 x 96 px",
        sample=lambda number: pool[number % POOL],
        language_size=384,
        vision_size=304,
    )


def tiny() -> Content:
    """One image of 8 x 8 pixels; prototypes are short, so that a hundred thousand fit."""
    images = np.random.default_rng(0).integers(0, 256, (POOL, 8, 8, 3)).astype(np.uint8)
    pool = [{"image": images[number]} | _numbers(number) for number in range(POOL)]
    return Content(
        name="made up, 8 x 8 px",
        sample=lambda number: pool[number % POOL],
        language_size=8,
        vision_size=6,
    )


def _numbers(number: int) -> Sample:
    rng = np.random.default_rng(number)
    return {
        "state": rng.normal(size=STATE).astype(np.float32),
        "action": rng.normal(size=(CHUNK, ACTION)).astype(np.float32),
        "action_is_pad": np.arange(CHUNK) >= CHUNK - number % 3,
    }


def _prototype(rng: np.random.Generator, language: Any, content: Content) -> Prototype:
    return Prototype(
        language=language,
        vision=rng.normal(size=content.vision_size),
        action=rng.normal(size=ACTION),
        motion=MOTION,
    )
