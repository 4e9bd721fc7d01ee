"""Something is learnt, forgotten in sequence, and kept by phaser: margins no luck can pass.

The toy needs no simulator. A red square lies somewhere on a grey table. One task moves the hand to
it, the other away from it, and both end by closing or opening the gripper. Only the instruction
tells the tasks apart, and only the image tells where the square is.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from accelerate import Accelerator

from phaser.core.contract import Contract
from phaser.core.demonstration import ActionLayout, Demo, Task
from phaser.core.memory import Memory, PreparedTask
from phaser.core.policy import Observation
from phaser.core.segmentation import Segmentation
from phaser.core.streams import Streams
from phaser.encoders.minilm import MiniLM
from phaser.memory.budget import Budget
from phaser.methods.table import METHODS
from phaser.policies.tiny.settings import Tiny
from phaser.routing.nothing import NoDraw
from phaser.routing.prototypes import prototypes
from phaser.training.fit import Fit
from phaser.training.frames import FrameTable, TaskFrames
from phaser.training.learner import PolicyLearner
from phaser.training.probe import PolicyProbe
from phaser.training.stream import TaskStream

SIZE, MOVE_FRAMES, GRIP_FRAMES = 64, 8, 4
LAYOUT = ActionLayout(motion=(0, 1), gripper=(2,))
CONTRACT = Contract(
    suite="toy",
    cameras=("table",),
    image_size=(SIZE, SIZE),
    state=("x", "y"),
    state_centre=(0.0, 0.0),
    state_scale=(1.0, 1.0),
    action=("dx", "dy", "gripper"),
    layout=LAYOUT,
)
TASKS = {
    "approach": Task(name="approach", instruction="move to the red square and grasp it"),
    "flee": Task(name="flee", instruction="keep away from the red square"),
}
SIGN = {"approach": 1.0, "flee": -1.0}
NUM_TRAIN, NUM_HELDOUT = 80, 20
BUDGET = Budget.per_task(60)
FLOW_LOSS, FLOW_ACTION = 0.35, 0.6
FIT = Fit(steps_per_task=250, batch_size=32, learning_rate=3e-3)


class Drawings:
    """The frames of one demonstration: the square does not move."""

    def __init__(self, square, count):
        row, column = ((np.asarray(square) + 1) / 2 * (SIZE - 12)).astype(int)
        self.image = np.full((SIZE, SIZE, 3), 110, np.uint8)
        self.image[row : row + 12, column : column + 12] = (220, 30, 30)
        self.count = count

    def __len__(self):
        return self.count

    def read(self, frames):
        return np.repeat(self.image[None], len(frames), axis=0)


def demo_of(name, index, rng):
    """Straight towards the square or away from it, then the gripper."""
    angle = rng.uniform(0, 2 * np.pi)
    square = rng.uniform(0.6, 0.9) * np.array([np.cos(angle), np.sin(angle)])
    hand = rng.uniform(-0.1, 0.1, 2)
    direction = SIGN[name] * (square - hand) / np.linalg.norm(square - hand)
    moving = np.tile([*direction, -SIGN[name]], (MOVE_FRAMES, 1))
    gripping = np.tile([0.0, 0.0, SIGN[name]], (GRIP_FRAMES, 1))
    actions = np.concatenate([moving, gripping])
    # The gripping frames look the same as the moving ones but for the hand being low (far out).
    travelled = np.concatenate([np.linspace(0, 0.2, MOVE_FRAMES), np.full(GRIP_FRAMES, 2.0)])
    states = hand + travelled[:, None]
    images = Drawings(square, len(actions))
    return Demo(
        task=name,
        index=index,
        actions=actions,
        states=states,
        layout=LAYOUT,
        cameras={"table": images},
    )


@dataclass
class Toy:
    """Both tasks, prepared for a policy, with frames to train on and frames held out."""

    policy: object
    train: FrameTable
    heldout: FrameTable
    prepared: dict


def toy(settings, seed):
    policy, words = settings.build(CONTRACT, Streams(seed).named("weights")), MiniLM()
    see = policy.front_end
    made = Toy(policy, FrameTable(), FrameTable(), {})
    for name, task in TASKS.items():
        rng = Streams(seed).named("demos", name)()
        demos = tuple(demo_of(name, k, rng) for k in range(NUM_TRAIN + NUM_HELDOUT))
        seen = [see({"table": demo.cameras["table"].read([0])}) for demo in demos]
        rows = [
            {k: v.repeat(demo.num_frames, 0) for k, v in one.items()}
            for one, demo in zip(seen, demos, strict=True)
        ]
        for table, part in ((made.train, slice(NUM_TRAIN)), (made.heldout, slice(NUM_TRAIN, None))):
            images = {key: np.concatenate([one[key] for one in rows[part]]) for key in rows[0]}
            table.tasks[name] = TaskFrames.of(
                demos[part],
                images,
                instruction=task.instruction,
                chunk_length=settings.chunk_length,
            )
        cut = Segmentation.from_boundaries(
            [MOVE_FRAMES], num_frames=demos[0].num_frames, labels=["move", "grip"]
        )
        made.prepared[name] = PreparedTask(
            task=task,
            demos=demos[:NUM_TRAIN],
            segmentations=(cut,) * NUM_TRAIN,
            prototypes=prototypes(
                demos[:NUM_TRAIN],
                (cut,) * NUM_TRAIN,
                instruction_embedding=words.encode([task.instruction])[0],
                frame_features=lambda demo, rows=rows: see.describe(rows[demo.index]),
            ),
        )
    return made


def learner_of(made, frames, seed, fit=FIT):
    return PolicyLearner(
        policy=made.policy,
        frames=frames,
        fit=fit,
        streams=Streams(seed),
        accelerator=Accelerator(cpu=True),
    )


def blind_loss(made, name):
    """Held-out loss of the best that can be done without looking: the median of each moment."""
    train, heldout = made.train.tasks[name], made.heldout.tasks[name]
    moments = train.actions.reshape(NUM_TRAIN, -1, *train.actions.shape[1:])
    guess = np.tile(np.median(moments, axis=0), (NUM_HELDOUT, 1, 1))
    errors = np.abs(heldout.actions - guess).mean(2)
    return float(((errors * heldout.valid).sum(1) / heldout.valid.sum(1)).mean())


@dataclass(frozen=True, kw_only=True)
class FirstTask:
    """Held-out loss of the first task, over the life of a policy that learns two."""

    blind: float
    untrained: float
    learnt: float
    after_second: float


def first_task(method_name, seed=0):
    made = toy(Tiny(chunk_length=2, width=96, channels=16), seed)
    probe = learner_of(made, made.heldout, seed)
    refs = made.heldout.tasks["approach"].refs("approach")
    losses = [float(probe.frame_losses(refs).mean())]
    learn = TaskStream(
        learner=learner_of(made, made.train, seed),
        method=METHODS[method_name],
        budget=BUDGET,
        streams=Streams(seed),
    )
    for _ in learn(made.prepared.values()):
        losses.append(float(probe.frame_losses(refs).mean()))
    untrained, learnt, after_second = losses
    return FirstTask(
        blind=blind_loss(made, "approach"),
        untrained=untrained,
        learnt=learnt,
        after_second=after_second,
    )


@pytest.fixture(scope="module")
def sequential():
    return first_task("sequential")


@pytest.fixture(scope="module")
def phaser():
    return first_task("phaser")


def test_the_first_task_is_learnt_by_looking(sequential):
    assert sequential.learnt < 0.25 * sequential.untrained
    assert sequential.learnt < 0.6 * sequential.blind


def test_learning_in_sequence_forgets_it(sequential):
    assert sequential.after_second > 5 * sequential.learnt
    assert sequential.after_second > 3 * sequential.blind


def test_phaser_learns_it_as_well_and_retains_it(sequential, phaser):
    assert phaser.learnt == sequential.learnt
    assert phaser.after_second < 2 * phaser.learnt
    assert phaser.after_second < 0.6 * phaser.blind
    assert phaser.after_second < 0.2 * sequential.after_second


def first_actions(made, name, noise_seed):
    """What the policy does at the first frame of every held-out demonstration, and should do."""
    rng = Streams(0).named("demos", name)()
    demos = [demo_of(name, k, rng) for k in range(NUM_TRAIN + NUM_HELDOUT)][NUM_TRAIN:]
    observations = [
        Observation(
            images={"table": demo.cameras["table"].image},
            state=demo.states[0].astype(np.float32),
            instruction=TASKS[name].instruction,
        )
        for demo in demos
    ]
    streams = [Streams(noise_seed).named("act", demo.index) for demo in demos]
    done = made.policy.act(observations, streams)[:, 0]
    return done, np.stack([demo.actions[0] for demo in demos])


def test_the_flow_head_learns_to_sample_the_right_actions():
    made = toy(Tiny(head="flow", chunk_length=2, width=96, channels=16), 0)
    learner = learner_of(made, made.train, 0, replace(FIT, steps_per_task=400))
    probe = learner_of(made, made.heldout, 0)
    refs = made.heldout.tasks["approach"].refs("approach")
    untrained = probe.frame_losses(refs).mean()
    nothing = NoDraw().for_task(
        Memory(),
        made.prepared["approach"],
        Streams(0).named("draw"),
        PolicyProbe(learner=probe, task="approach"),
    )
    learner.learn(made.prepared["approach"], nothing)
    assert probe.frame_losses(refs).mean() < FLOW_LOSS * untrained
    done, wanted = first_actions(made, "approach", 0)
    blind = np.abs(wanted - np.median(wanted, axis=0)).mean()
    assert np.abs(done - wanted).mean() < FLOW_ACTION * blind
    other, _ = first_actions(made, "approach", 1)
    assert not np.array_equal(done, other)
    assert np.abs(done - other).mean() < FLOW_ACTION * blind
