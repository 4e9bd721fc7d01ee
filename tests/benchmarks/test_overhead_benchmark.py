"""The overhead benchmark counts what methods do and forgets none; no test here measures time."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks import overhead, overhead_estimate
from benchmarks.overhead_backbone import Backbone
from benchmarks.overhead_cases import Case
from benchmarks.overhead_estimate import Size, flops, row
from benchmarks.overhead_memory import measuring_often, peak_bytes
from benchmarks.overhead_passes import Counted, CountingPolicy, counted, stream
from benchmarks.overhead_shapes import REAL, TINY
from benchmarks.overhead_tables import estimate_tables, policy_table, size, targets
from benchmarks.overhead_turns import SilentProbe, TimedProbe, Turn, take_turns
from phaser.core.streams import Streams
from phaser.methods.table import METHODS
from phaser.policies.tiny.policy import TinyBatch
from phaser.routing.adaptive import Adaptive
from phaser.routing.max_interference import MaxInterference
from phaser.training.fit import Fit

SHORT = Fit(steps_per_task=4, batch_size=4)


@pytest.fixture(scope="module")
def every():
    """What all methods of the table do in a task of 4 steps of 2 + 2 frames."""
    return counted(METHODS, batch_size=4, steps_per_task=4)


@pytest.fixture(scope="module")
def measured():
    """A whole measurement, of a policy that computes nothing."""
    made = stream()
    subject = overhead.Subject(title="counting", build=lambda run: CountingPolicy(100), fit=SHORT)
    streams = {one.segmenter: made for one in METHODS.values()}
    stored = dict.fromkeys(METHODS, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overhead, "TRANSITION_ROUNDS", 1)
        return overhead.measured(subject, None, METHODS, streams, stored, rounds=2)


def test_no_method_is_forgotten_in_the_measured_table(measured):
    assert [found["method"] for found in measured["rows"]] == list(METHODS)
    text = policy_table(measured)
    assert [line.split(" | ")[0][2:] for line in text.splitlines()[6:]] == list(METHODS)
    assert {
        name for name, one in overhead.SUBJECTS.items() if set(one.methods) == set(METHODS)
    } == {
        "tiny",
        "lora",
        "lora-flow",
    }


def test_only_a_joint_method_has_no_transition(measured):
    without = [found["method"] for found in measured["rows"] if not found["transition_ms"]]
    assert without == ["joint"]


def test_what_a_penalty_leaves_is_counted_as_it_is_written(measured):
    left = {found["method"]: found["penalty_bytes"] for found in measured["rows"]}
    assert left["phaser"] == left["mir"] == left["agem"] == 0
    assert left["icarl"] > 4 * 100
    assert left["ewc"] > 2 * 4 * 100
    assert left["der"] > 9 * 20 * 8 * 4 * 4


def test_the_targets_are_stated_for_every_policy(measured):
    found = {"phases_ms": 30.0, "policies": [measured, measured]}
    assert targets(found).count("phaser's step") == 2


@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("er", {("loss", "forward"): 4, ("loss", "backward"): 4}),
        ("phaser", {("loss", "forward"): 4, ("loss", "backward"): 4}),
        # In so short a task at every step: 16 candidates twice, 2 current frames, and back through
        # those. A snapshot has no gradient to take at the first of its four steps.
        ("mir", {("loss", "forward"): 4 + 34, ("loss", "backward"): 6}),
        ("mir-snapshot", {("loss", "forward"): 4 + 32 * 3 / 4, ("loss", "backward"): 4}),
        ("mir-original", {("loss", "forward"): 4 + 130, ("loss", "backward"): 6}),
        # The teacher and the policy once more, on the two rehearsed frames.
        (
            "icarl",
            {
                ("loss", "forward"): 4,
                ("loss", "backward"): 4,
                ("features", "forward"): 4,
                ("features", "backward"): 2,
            },
        ),
        (
            "der",
            {
                ("loss", "forward"): 4,
                ("loss", "backward"): 4,
                ("outputs", "forward"): 2,
                ("outputs", "backward"): 2,
            },
        ),
        ("agem", {("loss", "forward"): 4, ("loss", "backward"): 8}),
    ],
)
def test_frames_of_a_step_are_counted_from_what_the_code_does(every, name, frames):
    assert every[name].per_step == frames


def test_a_long_task_is_counted_with_the_refreshes_of_its_whole_length():
    some = {name: METHODS[name] for name in ("er", "mir")}
    found = counted(some, batch_size=4, steps_per_task=10_000)["mir"].per_step
    assert found == {("loss", "forward"): 4 + 34 / 50, ("loss", "backward"): 4 + 2 / 50}


def test_frames_of_a_transition_are_counted_from_what_the_code_does(every):
    assert every["phaser"].per_transition == {}
    assert every["loss-aware"].per_transition == {("loss", "forward"): 9 * 20}
    assert every["der"].per_transition == {("outputs", "forward"): 20}
    assert every["ewc"].per_transition == {("loss", "forward"): 200, ("loss", "backward"): 200}


def test_imagined_frames_are_asked_for_between_tasks(every):
    # Frames beside each of 20 kept ones; of the new task, 100 for each of two in its scene.
    for name, frames in (("phase-imagined", 5 * 20), ("phaser-imagined", 10 * 20 + 2 * 100)):
        assert every[name].per_step == every["er"].per_step
        assert every[name].per_transition == {("outputs", "forward"): frames}


def test_bytes_grow_with_the_trained_weights_as_the_rules_say(every):
    assert every["phaser"].kept_per_weight == every["phaser"].peak_per_weight == 0
    assert every["icarl"].kept_per_weight == pytest.approx(4, abs=0.1)
    assert every["ewc"].kept_per_weight == pytest.approx(8, abs=0.1)
    # Gradient and moved weights of the virtual step, when er holds no gradient of its own yet.
    assert every["mir"].peak_per_weight == pytest.approx(4, abs=0.5)
    places, chunks = 9 * 20 * 2 * 8, 9 * 20 * 8 * 4 * 4
    assert every["der"].kept_bytes == pytest.approx(places + chunks, abs=1)


def test_the_estimate_holds_every_method_and_says_that_it_is_one(every, monkeypatch):
    cost = {
        (asked, way): 1.0 for asked in overhead_estimate.ASKED for way in ("forward", "backward")
    }
    sizes = {"a backbone": Size(flops=cost, trained_weights=10**9, weights=10**10)}
    monkeypatch.setattr(overhead_estimate, "sizes", lambda: sizes)
    monkeypatch.setattr(overhead_estimate, "counted", lambda methods, **how: every)
    found = overhead_estimate.estimate(METHODS)
    [backbone] = found["backbones"]
    assert [one["method"] for one in backbone["rows"]] == list(METHODS)
    by_name = {one["method"]: one for one in backbone["rows"]}
    assert by_name["agem"]["step_ratio"] == pytest.approx(12 / 8)
    assert by_name["ewc"]["transition_share"] == pytest.approx(400 / (10_000 * 8))
    assert estimate_tables(found).count("estimate, nothing was run at this size") == 2


def test_an_estimate_weighs_frames_by_what_they_cost():
    er = Counted(
        per_step={("loss", "forward"): 4, ("loss", "backward"): 4},
        per_transition={},
        kept_bytes=0,
        kept_per_weight=0,
        peak_per_weight=0,
    )
    other = replace(
        er,
        per_step={**er.per_step, ("features", "forward"): 2},
        kept_bytes=5,
        kept_per_weight=8,
        peak_per_weight=4,
    )
    cost = {("loss", "forward"): 3.0, ("loss", "backward"): 6.0, ("features", "forward"): 2.0}
    found = row("other", other, er, Size(flops=cost, trained_weights=100, weights=1000))
    assert found["step_ratio"] == pytest.approx(40 / 36)
    assert (found["kept_bytes"], found["peak_bytes"]) == (805, 400)


@pytest.mark.parametrize(
    ("name", "head", "adapters"),
    [
        ("OpenVLA-OFT-7B", 151.1e6, 109.6e6),
        ("QwenGR00T-3B", 155.2e6, 82.7e6),
        ("QwenOFT-3B", 42.0e6, 82.7e6),
    ],
)
def test_real_shapes_have_the_trained_weights_of_the_real_backbones(name, head, adapters):
    with torch.device("meta"):
        policy = Backbone(REAL[name])
    trained = {n: w.numel() for n, w in policy.named_parameters() if w.requires_grad}
    in_head = sum(count for n, count in trained.items() if n.startswith("head."))
    in_adapters = sum(c for n, c in trained.items() if ".down." in n or ".up." in n)
    assert in_head == pytest.approx(head, rel=0.02)
    assert in_adapters == pytest.approx(adapters, rel=0.04)


def frames(shape, count):
    generator = torch.Generator().manual_seed(0)
    side = round(shape.patches**0.5)

    def random(*size):
        return torch.randn(count, *size, generator=generator)

    return TinyBatch(
        inputs={
            f"{camera}_coarse": random(shape.patch_size, side, side) for camera in shape.cameras
        },
        states=random(shape.state_size),
        language=random(shape.text_tokens * shape.text_size),
        actions=random(shape.chunk_length, shape.action_size),
        valid=torch.ones(count, shape.chunk_length, dtype=torch.bool),
        places=None,
        num_places=None,
    )


@pytest.mark.parametrize("head", TINY)
def test_a_stand_in_is_trained_like_a_policy(head):
    torch.manual_seed(0)
    policy, batch = Backbone(TINY[head]), frames(TINY[head], 3)
    noise = Streams(0).named("noise")
    losses = policy(batch, noise)
    assert losses.shape == (3,)
    assert (policy(batch, noise) == losses).all()
    losses.sum().backward()
    lacking = [n for n, w in policy.named_parameters() if w.requires_grad and w.grad is None]
    assert lacking == []
    assert policy.outputs(batch).shape == batch.actions.shape
    first = replace(
        batch,
        inputs={name: rows[:1] for name, rows in batch.inputs.items()},
        **{part: getattr(batch, part)[:1] for part in ("states", "language", "actions", "valid")},
    )
    alone = policy(first, noise) if head == "regression" else None
    assert alone is None or alone.item() == pytest.approx(losses[0].item(), rel=1e-4)


def test_frozen_weights_cost_no_gradient_of_their_own():
    shape = TINY["regression"]
    found = flops(Backbone(shape), frames(shape, 1))
    assert 0.8 < found["loss", "backward"] / found["loss", "forward"] < 1.5
    whole = Backbone(shape).requires_grad_(True)
    ratio = flops(whole, frames(shape, 1))
    assert ratio["loss", "backward"] / ratio["loss", "forward"] > 1.7


def test_learners_take_turns_step_by_step_and_an_error_reaches_the_caller():
    order = []

    def learner(name, turn, steps):
        def learn():
            for step in range(steps):
                order.append((name, step))
                if steps == 1:
                    raise ValueError("diverged")
                turn(step + 1, steps, 0.0)

        turn.start(learn)
        return turn

    turns = {name: learner(name, Turn(TimedProbe(SilentProbe())), 3) for name in "ab"}
    take_turns(turns, rounds=3)
    assert order == [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 2), ("b", 2)]
    assert [len(turn.step_ms) for turn in turns.values()] == [3, 3]
    failing = learner("c", Turn(TimedProbe(SilentProbe())), 1)
    with pytest.raises(ValueError, match="diverged"):
        take_turns({"c": failing}, rounds=1)


def test_measuring_is_told_apart_from_the_step_that_it_is_made_in():
    def busy(refs):
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass
        return np.zeros(len(refs))

    turn = Turn(TimedProbe(busy))

    def learn():
        turn(1, 2, 0.0)
        turn.probe([])
        turn(2, 2, 0.0)

    turn.start(learn)
    take_turns({"a": turn}, rounds=2)
    assert turn.measuring_ms[0] == 0
    assert turn.measuring_ms[1] >= 20
    assert turn.step_ms[1] < turn.measuring_ms[1]


@pytest.mark.parametrize(
    ("name", "questions"), [("er", 0), ("mir", 200), ("mir-original", 300), ("phaser-adaptive", 6)]
)
def test_questions_of_a_whole_task_are_counted_without_a_policy(name, questions):
    case = Case.of(name, METHODS[name], stream(), CountingPolicy(10), Fit(steps_per_task=300))
    assert case.questions() == questions


def test_a_peak_is_what_is_held_at_once():
    def work():
        first = torch.zeros(1000)
        second = torch.zeros(500)
        del first
        return second

    assert peak_bytes(work) == 6000


def test_a_peak_is_taken_of_steps_that_measure():
    assert measuring_often(MaxInterference(refreshes_per_task=2)).every_step
    assert measuring_often(Adaptive(measure_every=9)).measure_every == 1
    assert measuring_often(METHODS["er"].draw) == METHODS["er"].draw


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (12, "12 B"), (1234, "1.23 kB"), (2.5e9, "2.5 GB")]
)
def test_sizes_have_few_digits(count, text):
    assert size(count) == text
