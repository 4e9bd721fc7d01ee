"""Tasks with made-up demonstrations, two cameras each, as a source would open them."""

import numpy as np
from synthetic import scripted_demo

from phaser.core.demonstration import Demo, Task
from phaser.demos.source_tasks import SourceTask

PACES = ((40, 20, 40), (44, 20, 42), (30, 20, 50))


class Drawn:
    """Images whose brightness tells the frame."""

    def __init__(self, num_frames: int, shift: int) -> None:
        self.num_frames, self.shift = num_frames, shift

    def __len__(self) -> int:
        return self.num_frames

    def read(self, frames):
        pixels = np.zeros((len(frames), 48, 64, 3), np.uint8)
        for place, frame in enumerate(frames):
            at = int(52 * frame / self.num_frames)
            pixels[place] = 40 + self.shift
            pixels[place, 18:30, at : at + 12] = (230, 140, 40)
        return pixels


def made_demo(task: str, index: int, paces) -> Demo:
    moves = scripted_demo(paces, index=index)
    frames = moves.num_frames
    cameras = {"front": Drawn(frames, 0), "wrist": Drawn(frames, 60)}
    return Demo(
        task=task,
        index=index,
        actions=moves.actions,
        states=np.zeros((frames, 0), np.float32),
        layout=moves.layout,
        cameras=cameras,
        instruction=f"put the {task} away",
    )


def made_source(name: str, paces=PACES) -> SourceTask:
    task = Task(name=name, instruction=f"put the {name} away")
    demos = [made_demo(name, index, one) for index, one in enumerate(paces)]
    return SourceTask(task=task, source="made up", num_demos=len(demos), read=lambda: demos)
