"""Small datasets that LeRobot itself writes: a made-up SO-100 arm carries a cube to one side.

The cube's place is seen in the images alone, so a policy that learns has looked at them. Joints are
absolute targets in degrees, the gripper opens with larger numbers, as on the real arm.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
NAMES = [f"{joint}.pos" for joint in JOINTS]
FPS = 10
CAMERA = "observation.images.front"


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What one dataset shows."""

    instruction: str = "put the cube to the left"
    goal: float = -60.0
    """The shoulder's pan, in degrees, where the cube is let go."""
    colour: tuple[int, int, int] = (220, 40, 40)
    moves_gripper: bool = True
    """False: the gripper stays at one number, so that its deviation is zero."""
    num_episodes: int = 4
    side: int = 64
    """Pixels of an image's side; AV1 needs 64."""
    textured: bool = False
    """A table with a pattern and a camera with noise, as in real recordings."""
    seed: int = 0


LEFT = Arm()
RIGHT = Arm(instruction="put the cube to the right", goal=60.0, colour=(40, 60, 220), seed=1)
STIFF = Arm(instruction="push the cube to the left", moves_gripper=False, seed=2)


def write_dataset(root: Path, arm: Arm = LEFT, *, video: bool, repo_id: str = "") -> Path:
    """Write one dataset with LeRobot's own writer; returns its folder."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset = LeRobotDataset.create(
        repo_id=repo_id or f"made/{root.name}",
        fps=FPS,
        features=features(arm, video=video),
        root=root,
        robot_type="so100_follower",
        use_videos=video,
    )
    chance = np.random.default_rng(arm.seed)
    for _ in range(arm.num_episodes):
        for frame in episode(arm, chance):
            dataset.add_frame(frame)
        dataset.save_episode()
    dataset.finalize()
    return root


def features(arm: Arm, *, video: bool) -> dict[str, Any]:
    joints = {"dtype": "float32", "shape": (len(NAMES),), "names": NAMES}
    image = {
        "dtype": "video" if video else "image",
        "shape": (arm.side, arm.side, 3),
        "names": ["height", "width", "channels"],
    }
    return {"action": joints, "observation.state": joints, CAMERA: image}


def episode(arm: Arm, chance: np.random.Generator) -> list[dict[str, Any]]:
    """Reach the cube, close, carry it, let go, draw back: about forty frames."""
    place = chance.uniform(-40, 40)
    targets = joint_targets(arm, place, chance)
    states = np.vstack([targets[:1], targets[:-1]])
    frames = []
    for target, state in zip(targets, states, strict=True):
        frames.append(
            {
                "action": target.astype(np.float32),
                "observation.state": state.astype(np.float32),
                CAMERA: picture(arm, cube=place, hand=float(state[0])),
                "task": arm.instruction,
            }
        )
    return frames


def joint_targets(arm: Arm, place: float, chance: np.random.Generator) -> np.ndarray:
    """One row of six joint targets per frame."""
    far, low, high = np.array([0.0, -60, 60, 20, 0]), 30.0, -20.0
    reached = far + np.array([place, low, -20, 10, 5])
    carried = np.array([arm.goal, high, 30, 0, -5])
    lengths = chance.integers(9, 13, size=3)
    legs = [(far, reached, lengths[0]), (reached, reached, 4), (reached, carried, lengths[1])]
    legs += [(carried, carried, 4), (carried, far, lengths[2])]
    opening = [1.0, 0.0, 0.0, 1.0, 1.0]
    rows, grip = [], 60.0
    for (start, stop, length), open_ in zip(legs, opening, strict=True):
        steps = np.linspace(0, 1, int(length), endpoint=False)[:, None]
        moved = start + (stop - start) * (3 * steps**2 - 2 * steps**3)
        wanted = np.linspace(grip, 60.0 if open_ else 10.0, int(length))
        grip = float(wanted[-1])
        rows.append(np.hstack([moved, wanted[:, None] if arm.moves_gripper else 60.0 + 0 * steps]))
    found = np.vstack(rows)
    found[:, :5] += chance.normal(0, 0.2, size=(len(found), 5))
    return found


def picture(arm: Arm, *, cube: float, hand: float) -> np.ndarray:
    """The cube as a square at its place, the hand as a grey bar at the shoulder's pan."""
    image = table(arm, hand) if arm.textured else np.full((arm.side, arm.side, 3), 245, np.uint8)
    size = arm.side // 8
    for degrees, top, colour in ((cube, arm.side // 2, arm.colour), (hand, 4, (90, 90, 90))):
        left = int((degrees + 90) / 180 * (arm.side - size))
        image[top : top + size, max(left, 0) : max(left, 0) + size] = colour
    return image


def table(arm: Arm, hand: float) -> np.ndarray:
    """A pattern that is the same in all frames, under noise that is another one in each."""
    pattern = np.random.default_rng(arm.seed).integers(60, 200, (arm.side // 4, arm.side // 4, 3))
    seen = np.kron(pattern, np.ones((4, 4, 1)))
    seed = abs(int(hand * 1000))
    return np.clip(seen + np.random.default_rng(seed).normal(0, 6, seen.shape), 0, 255).astype(
        np.uint8
    )


if __name__ == "__main__":
    # python arm_datasets.py FOLDER [EPISODES]: the two datasets of docs/how-to/lerobot.md.
    folder, episodes = Path(sys.argv[1]), int((sys.argv[2:] or ["10"])[0])
    for name, shown in (("left", LEFT), ("right", RIGHT)):
        write_dataset(folder / name, replace(shown, num_episodes=episodes), video=True)
