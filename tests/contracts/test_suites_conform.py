"""`check_suite` holds a suite against its whole port, and names what an adapter forgot."""

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from phaser.core.contract import Contract
from phaser.core.demonstration import ActionLayout, Demo, Task
from phaser.core.policy import Observation
from phaser.core.suite import Env, Suite
from phaser.testing.suite import check_suite
from phaser.testing.verdict import NotConforming

LAYOUT = ActionLayout(motion=(0, 1), gripper=(2,))
NAMES = ("red", "blue")
CONTRACT = Contract(
    suite="made-up",
    cameras=("top",),
    image_size=(8, 8),
    state=("x", "y"),
    state_centre=(0.0, 0.0),
    state_scale=(1.0, 1.0),
    action=("dx", "dy", "gripper"),
    layout=LAYOUT,
)


class Pictures:
    def __len__(self):
        return 5

    def read(self, frames):
        return np.zeros((len(frames), 8, 8, 3), np.uint8)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sound(Suite):
    """A small suite without a fault and without a simulator."""

    order: str = "default"
    cache: Path = field(default_factory=Path)

    @property
    def contract(self):
        return CONTRACT

    def tasks(self):
        names = NAMES if self.order == "default" else tuple(reversed(NAMES))
        return tuple(Task(name=name, instruction=f"take {name}") for name in names)

    def demos(self, task, split):
        seed = NAMES.index(task.name) + 10 * (split == "train")
        draw = np.random.default_rng(seed)
        return (
            Demo(
                task=task.name,
                index=0,
                actions=draw.normal(size=(5, 3)),
                states=draw.normal(size=(5, 2)),
                layout=LAYOUT,
                cameras={"top": Pictures()},
            ),
        )

    def images_sha256(self, task, split):
        return hashlib.sha256(f"{task.name} {split}".encode()).hexdigest()


class Room(Env):
    def __init__(self, task):
        self.task = task

    def reset(self, seed):
        self._at = np.full(2, seed, np.float32)
        return self.observe()

    def step(self, action):
        self._at = self._at + np.float32(action[0])
        return False

    def observe(self):
        images = {"top": np.zeros((8, 8, 3), np.uint8)}
        return Observation(images=images, state=self._at, instruction=self.task.instruction)


class Simulated(Sound):
    @property
    def has_simulator(self):
        return True

    def make_env(self, task):
        return Room(task)

    def horizon(self, task):
        return 9

    def evaluation_seeds(self, count):
        return tuple(range(50, 50 + count))


@pytest.mark.parametrize("kind", [Sound, Simulated])
def test_a_sound_suite_passes(kind):
    check_suite(kind())


class NoContract(Sound):
    contract = Suite.contract


class NoHash(Sound):
    images_sha256 = Suite.images_sha256


class Untyped(Sound):
    @property
    def contract(self):
        return CONTRACT.to_json()


class OtherCamera(Sound):
    @property
    def contract(self):
        return replace(CONTRACT, cameras=("side",))


class OtherSize(Sound):
    @property
    def contract(self):
        return replace(CONTRACT, image_size=(16, 16))


class OtherState(Sound):
    @property
    def contract(self):
        three = {"state": ("x", "y", "z"), "state_centre": (0.0,) * 3, "state_scale": (1.0,) * 3}
        return replace(CONTRACT, **three)


class Restless(Sound):
    def images_sha256(self, task, split):
        return str(np.random.default_rng().integers(2**60))


class OneHash(Sound):
    def images_sha256(self, task, split):
        return task.name


class Leaking(Sound):
    def demos(self, task, split):
        return super().demos(task, "train")


class Absent(Sound):
    def missing(self):
        return [self.tasks()[0]]


class OneOrder(Sound):
    def in_order(self, order):
        return self


class Plain(Suite):
    """No dataclass, so that its order cannot be exchanged."""

    order, cache, contract = "default", Path(), CONTRACT

    def tasks(self):
        return Sound().tasks()

    def demos(self, task, split):
        return Sound().demos(task, split)

    def images_sha256(self, task, split):
        return Sound().images_sha256(task, split)


class Twins(Sound):
    def tasks(self):
        return super().tasks()[:1] * 2


class Unnamed(Sound):
    def tasks(self):
        return (Task(name="red/blue", instruction="take both"),)


class SeedsWithoutSimulator(Sound):
    def evaluation_seeds(self, count):
        return (1,)


class NoSeeds(Simulated):
    evaluation_seeds = Suite.evaluation_seeds


class NoLimit(Simulated):
    def horizon(self, task):
        return 0


class Seedless(Simulated):
    def make_env(self, task):
        room = Room(task)
        start = room.reset
        room.reset = lambda seed: start(50)
        return room


class Drifting(Simulated):
    def make_env(self, task):
        room, count = Room(task), iter(range(100))
        start = room.reset
        room.reset = lambda seed: start(seed + next(count))
        return room


class Blind(Simulated):
    def make_env(self, task):
        room = Room(task)
        look = room.observe
        room.observe = lambda: replace(look(), images={})
        return room


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (NoContract, "lacks contract; see phaser.core.suite"),
        (NoHash, "lacks images_sha256"),
        (Untyped, "its contract is a dict; expected a phaser.core.contract.Contract"),
        (OtherCamera, r"has cameras \['top'\]; the contract names \['side'\]"),
        (OtherSize, "the contract says uint8 of shape"),
        (OtherState, "states, actions and layout"),
        (Restless, "the same every time"),
        (OneHash, "expected one hash per split"),
        (Leaking, r"held-out demonstration 0 is training demonstration \[0\]"),
        (Absent, "whose demonstrations were just read"),
        (OneOrder, "in reverse"),
        (Plain, "make the suite a dataclass with a field 'order'"),
        (Twins, "expected distinct"),
        (Unnamed, "a name that fits into a file's"),
        (SeedsWithoutSimulator, "has_simulator is False"),
        (NoSeeds, r"evaluation_seeds\(2\) gave \(\)"),
        (NoLimit, "a step limit of 0 steps"),
        (Seedless, "give the same initial state"),
        (Drifting, "gave two different episodes"),
        (Blind, "no camera 'top'"),
    ],
)
def test_a_broken_suite_is_named_in_one_line(kind, message):
    with pytest.raises(NotConforming, match=message) as found:
        check_suite(kind())
    assert "\n" not in str(found.value)
    assert str(found.value).startswith(kind.__name__)
