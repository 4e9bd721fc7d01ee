"""Every shipped rule keeps the promises of its port, and a broken one is found out."""

from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
import pytest

from phaser.core.errors import PhaserError
from phaser.core.ports import Draw, Keep, Sampler, Segmenter
from phaser.core.segmentation import Segmentation
from phaser.core.streams import Streams
from phaser.memory.even import Even
from phaser.memory.herding import Herding
from phaser.memory.nothing import Nothing
from phaser.memory.phase_buckets import PhaseBuckets, Within
from phaser.memory.reservoir import Reservoir
from phaser.methods.table import METHODS
from phaser.phases.autopc import AutoPC
from phaser.phases.stage_info import RatioPhase, RatioSegmenter
from phaser.routing.by_loss import ByLoss
from phaser.routing.nothing import NoDraw
from phaser.routing.routed import Routed
from phaser.routing.uniform import Uniform
from phaser.testing.draw import check_draw
from phaser.testing.keep import check_keep
from phaser.testing.made_up import made_up_task
from phaser.testing.segmenter import check_segmenter
from phaser.testing.verdict import NotConforming

KEEPS = [
    *(Nothing(), Reservoir(), Even(), Herding(), PhaseBuckets(zero_phase=1)),
    *(PhaseBuckets(within=one) for one in get_args(Within)),
]
RATIOS = RatioSegmenter(
    phases=(
        RatioPhase(name="reach", start_ratio=0.0, end_ratio=0.4),
        RatioPhase(name="carry", start_ratio=0.4, end_ratio=1.0),
    )
)
DRAWS = [NoDraw(), Uniform(), Routed(), ByLoss(), ByLoss(level="phase", uniform_share=0.0)]


# In a fixed order: two workers must collect the same tests.
ALL_KEEPS = list(dict.fromkeys([*KEEPS, *(one.keep for one in METHODS.values())]))
ALL_DRAWS = list(dict.fromkeys([*DRAWS, *(one.draw for one in METHODS.values())]))


def task_with_features():
    return replace(made_up_task(), features=lambda demo: np.sin(7 * demo.states))


def task_with_a_phase_of_one_frame():
    """The first frame of every demonstration is a phase of its own."""
    task = made_up_task()
    cuts = tuple(
        Segmentation.from_boundaries(
            [1, cut.boundaries[1]], num_frames=cut.num_frames, labels=cut.labels
        )
        for cut in task.segmentations
    )
    return replace(task, segmentations=cuts)


@pytest.mark.parametrize(
    "make_task", [made_up_task, task_with_features, task_with_a_phase_of_one_frame]
)
@pytest.mark.parametrize("keep", ALL_KEEPS, ids=str)
def test_a_rule_that_keeps_conforms(keep, make_task):
    check_keep(keep, make_task)


@pytest.mark.parametrize("draw", ALL_DRAWS, ids=str)
def test_a_rule_that_draws_conforms(draw):
    check_draw(draw)


@pytest.mark.parametrize(
    "segmenter", [AutoPC(), AutoPC(boundaries="ratio"), AutoPC(max_phases=1), RATIOS], ids=str
)
def test_a_segmenter_conforms(segmenter):
    check_segmenter(segmenter)


@dataclass(frozen=True)
class BrokenKeep(Keep):
    """A reservoir with one fault."""

    fault: str

    def select(self, task, num_frames, stream):
        if self.fault == "unseeded":
            stream = Streams(int(np.random.default_rng().integers(2**40))).named("keep")
        count = num_frames - 1 if self.fault == "budget" else num_frames
        buckets = Reservoir().select(task, count, stream)
        if self.fault == "phase":
            [whole] = PhaseBuckets().select(task, num_frames, stream)[:1]
            early = tuple(whole.frames[0]._replace(frame=frame) for frame in range(num_frames))
            return [replace(whole, frames=early, ranks=(), phase=task.phase_ids()[1])]
        if self.fault == "prototype":
            buckets[0] = replace(buckets[0], prototype=task.prototypes[-1])
        if self.fault == "elsewhere":
            stray = buckets[0].frames[0]._replace(demo=77)
            buckets[0] = replace(buckets[0], frames=(stray, *buckets[0].frames[1:]))
        return buckets

    def candidates(self, task):
        return super().candidates(task)[self.fault == "candidates" :]

    def shrink(self, buckets, num_frames):
        fewer = super().shrink(buckets, num_frames)
        return list(buckets) if self.fault == "shrink" else fewer


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("budget", "kept 5 frames, expected exactly 6"),
        ("unseeded", "other frames from the same stream"),
        ("phase", "into 'grasp', which has no such frame"),
        ("prototype", "prototype of another phase"),
        ("elsewhere", "not among the task's demonstrations"),
        ("candidates", "candidates for 2 phases of a task with 3"),
        ("shrink", "shrank 6 stored frames to 6, expected 1 of them"),
    ],
)
def test_a_broken_rule_that_keeps_is_found_out(fault, message):
    with pytest.raises(NotConforming, match=message):
        check_keep(BrokenKeep(fault), num_frames=6)


@dataclass(frozen=True)
class BrokenDraw(Draw):
    """Uniform with one fault."""

    fault: str
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def for_task(self, memory, task, stream, probe):
        inner = Uniform().for_task(memory, task, stream, probe)
        fault, rng = self.fault, self.rng

        class Faulty(Sampler):
            def weights(self):
                return inner.weights() * (2 if fault == "weights" else 1)

            def next(self, count, step):
                if fault == "history":
                    step = int(rng.integers(1000))
                if fault == "constant":
                    step = 0
                drawn = list(inner.next(count, step))
                if fault == "short":
                    drawn = drawn[:-1]
                if fault == "stray" and drawn:
                    drawn[0] = drawn[0]._replace(frame=10**6)
                return drawn

        return Faulty()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("weights", "probabilities that sum to 1"),
        ("history", "depend on earlier steps"),
        ("constant", "same frames in two steps"),
        ("short", "drew 31 frames, expected 32"),
        ("stray", "memory does not hold"),
    ],
)
def test_a_broken_rule_that_draws_is_found_out(fault, message):
    with pytest.raises(NotConforming, match=message):
        check_draw(BrokenDraw(fault))


def test_a_segmenter_with_other_phases_per_demonstration_is_found_out():
    class Numbered(Segmenter):
        def segment(self, demos):
            return tuple(
                Segmentation.from_boundaries([], num_frames=d.num_frames, labels=[f"p{d.index}"])
                for d in demos
            )

    with pytest.raises(NotConforming, match="expected the same for all"):
        check_segmenter(Numbered())


def test_what_has_not_the_methods_of_a_port_is_named():
    for check in (check_keep, check_draw, check_segmenter):
        with pytest.raises(
            NotConforming, match=r"^object: lacks part of the port: inherit from phaser\.core"
        ):
            check(object())
    assert issubclass(NotConforming, PhaserError)
    assert issubclass(NotConforming, AssertionError)


def test_a_made_up_task_is_the_same_for_the_same_name():
    one, two, other = made_up_task(), made_up_task(), made_up_task("push")
    assert np.array_equal(one.demos[0].actions, two.demos[0].actions)
    assert not np.array_equal(one.demos[0].actions, other.demos[0].actions)
